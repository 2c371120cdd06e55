// Members ask each other two things beside the library's messages: how far one has applied the log, so that a write is known to
// show there, and whether it is electable, so that a primary finds a member to hand over to. The answer comes at once.
//
//   question | 00 | 00 |            answer | 00 | 01: stands, 02: doesn't | applied index, varint |
//
// None of the library's own messages begins with a zero.
#pragma once

#include <optional>

#include "replication/consensus/types.h"

namespace replication::consensus {

struct InquiryAnswer {
  Index applied = 0;
  bool electable = false;
};

bool is_inquiry(BytesView message);

Bytes inquiry_question();
Bytes inquiry_answer(const InquiryAnswer& answer);

struct Inquiry {
  bool question = false;
  InquiryAnswer answer;  // where it is no question
};
// nullopt: damaged.
std::optional<Inquiry> decode_inquiry(BytesView message);

}  // namespace replication::consensus
