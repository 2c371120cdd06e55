// How far members have applied the log: asked by who must know that a write shows there, told at once.
//
//   question | 00 | 00 |            answer | 00 | 01 | index, varint |
//
// They travel among the library's own messages, none of which begins with a zero.
#pragma once

#include <optional>

#include "replication/consensus/types.h"

namespace replication::consensus {

bool is_about_applied(BytesView message);

Bytes applied_question();
Bytes applied_answer(Index index);

struct AppliedMessage {
  bool question = false;
  Index index = 0;  // of an answer
};
// nullopt: damaged.
std::optional<AppliedMessage> decode_applied(BytesView message);

}  // namespace replication::consensus
