#include "replication/consensus/inquiry.h"

#include "base/varint.h"

namespace replication::consensus {
namespace {

constexpr char mark = 0, question = 0, answer_electable = 1, answer_not_electable = 2;

}  // namespace

bool is_inquiry(BytesView message) {
  return !message.empty() && message.front() == mark;
}

Bytes inquiry_question() {
  return {mark, question};
}

Bytes inquiry_answer(const InquiryAnswer& answer) {
  Bytes out{mark, answer.electable ? answer_electable : answer_not_electable};
  base::append_varint(out, answer.applied);
  return out;
}

std::optional<Inquiry> decode_inquiry(BytesView message) {
  if (!is_inquiry(message) || message.size() < 2) return std::nullopt;
  BytesView rest = message.substr(2);
  if (message[1] == question) return rest.empty() ? std::optional(Inquiry{true, {}}) : std::nullopt;
  if (message[1] != answer_electable && message[1] != answer_not_electable) return std::nullopt;
  const auto index = base::take_varint(rest);
  if (!index || !rest.empty()) return std::nullopt;
  return Inquiry{false, {*index, message[1] == answer_electable}};
}

}  // namespace replication::consensus
