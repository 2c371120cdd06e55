// Whoever accumulates values in an evaluation counts what that takes, in work and in memory.
#pragma once

#include "server/query/expressions/accumulate.h"
#include "server/query/expressions/expression.h"

namespace server::query {

// Gives a value to the accumulator, whose bytes the frame holds besides the `held` before.
inline void add_to(Accumulator& accumulator, const bson::ValueView& value, Frame& frame, size_t held) {
  frame.work_on(value.bytes().size());
  accumulator.add(value);
  frame.keep(held, accumulator.bytes());
}

// The result is about as large as what the accumulator holds.
inline bson::Value result_of(Frame& frame, const Accumulator& accumulator) {
  const size_t bytes = accumulator.bytes();
  frame.work_on(bytes);
  frame.hold(bytes);
  return accumulator.result();
}

}  // namespace server::query
