#include "replication/consensus/inquiry.h"

#include "base/varint.h"

namespace replication::consensus {
namespace {

constexpr char mark = 0, question = 0, answer_stands = 1, answer_stands_not = 2;

}  // namespace

bool is_inquiry(BytesView message) {
  return !message.empty() && message.front() == mark;
}

Bytes inquiry_question() {
  return {mark, question};
}

Bytes inquiry_answer(const Told& told) {
  Bytes out{mark, told.stands ? answer_stands : answer_stands_not};
  base::append_varint(out, told.applied);
  return out;
}

std::optional<Inquiry> decode_inquiry(BytesView message) {
  if (!is_inquiry(message) || message.size() < 2) return std::nullopt;
  BytesView rest = message.substr(2);
  if (message[1] == question) return rest.empty() ? std::optional(Inquiry{true, {}}) : std::nullopt;
  if (message[1] != answer_stands && message[1] != answer_stands_not) return std::nullopt;
  const auto index = base::take_varint(rest);
  if (!index || !rest.empty()) return std::nullopt;
  return Inquiry{false, {*index, message[1] == answer_stands}};
}

}  // namespace replication::consensus
