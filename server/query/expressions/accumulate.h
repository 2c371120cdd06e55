// Accumulators: many values in, one out. What $group computes per group, and
// $sum and its like over an array.
#pragma once

#include <memory>
#include <string_view>

#include "bson/value.h"

namespace server::query {

class Accumulator {
 public:
  virtual ~Accumulator() = default;
  virtual void add(const bson::ValueView& value) = 0;  // missing values too: each kind knows what to do with them
  virtual bson::Value result() const = 0;
  // Bytes held, about: for $group's limit.
  virtual size_t bytes() const { return 64; }
};

// "$sum", "$avg", "$min", "$max", "$first", "$last", "$push", "$addToSet", "$stdDevPop", "$stdDevSamp",
// "$mergeObjects", "$count", "$firstN" …; nullptr: no accumulator of that name.
// `n` is for those that keep that many.
std::unique_ptr<Accumulator> make_accumulator(std::string_view name, int64_t n = 0);
bool is_accumulator(std::string_view name);
bool takes_n(std::string_view name);

}  // namespace server::query
