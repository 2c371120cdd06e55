#include "replication/consensus/inquiry.h"

#include "base/varint.h"

namespace replication::consensus {
namespace {

constexpr char mark = 0, question = 0, answer_electable = 1, answer_not_electable = 2;
constexpr int64_t word_stands_us = 2'000'000;  // what a member said of itself; a line there and back takes less
constexpr int64_t ask_again_us = 100'000;

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

void Answers::note(MemberId from, const InquiryAnswer& answer, int64_t now_us) {
  Heard& heard = heard_[from];
  heard.answer = answer;
  heard.at_us = now_us;
}

Index Answers::applied_by(MemberId member) const {
  const auto found = heard_.find(member);
  return found == heard_.end() ? 0 : found->second.answer.applied;
}

Answers::Stands Answers::stands(MemberId member, int64_t now_us) {
  Heard& heard = heard_[member];
  Stands out;
  out.yes = heard.answer.electable && heard.at_us && now_us - *heard.at_us < word_stands_us;
  out.ask = !heard.asked_us || now_us - *heard.asked_us >= ask_again_us;
  if (out.ask) heard.asked_us = now_us;
  return out;
}

}  // namespace replication::consensus
