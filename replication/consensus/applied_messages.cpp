#include "replication/consensus/applied_messages.h"

#include "base/varint.h"

namespace replication::consensus {
namespace {

constexpr char mark = 0, question = 0, answer = 1;

}  // namespace

bool is_about_applied(BytesView message) { return !message.empty() && message.front() == mark; }

Bytes applied_question() { return {mark, question}; }

Bytes applied_answer(Index index) {
  Bytes out{mark, answer};
  base::append_varint(out, index);
  return out;
}

std::optional<AppliedMessage> decode_applied(BytesView message) {
  if (!is_about_applied(message) || message.size() < 2) return std::nullopt;
  BytesView rest = message.substr(2);
  if (message[1] == question) return rest.empty() ? std::optional(AppliedMessage{true, 0}) : std::nullopt;
  if (message[1] != answer) return std::nullopt;
  const auto index = base::take_varint(rest);
  if (!index || !rest.empty()) return std::nullopt;
  return AppliedMessage{false, *index};
}

}  // namespace replication::consensus
