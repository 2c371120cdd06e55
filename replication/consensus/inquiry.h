// What members ask each other beside the library's messages, told at once: how far one has applied the log, for who must
// know that a write shows there, and whether it stands for election, for who looks for somebody to hand over to.
//
//   question | 00 | 00 |            answer | 00 | 01: stands, 02: doesn't | applied index, varint |
//
// None of the library's own messages begins with a zero.
#pragma once

#include <optional>

#include "replication/consensus/types.h"

namespace replication::consensus {

struct Told {
  Index applied = 0;
  bool stands = false;
};

bool is_inquiry(BytesView message);

Bytes inquiry_question();
Bytes inquiry_answer(const Told& told);

struct Inquiry {
  bool question = false;
  Told told;  // of an answer
};
// nullopt: damaged.
std::optional<Inquiry> decode_inquiry(BytesView message);

}  // namespace replication::consensus
