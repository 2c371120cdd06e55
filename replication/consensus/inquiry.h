// Members ask each other two things beside the library's messages: how far one has applied the log, so that a write is known to
// show there, and whether it is electable, so that a primary finds a member to hand over to. The answer comes at once.
//
//   question | 00 | 00 |            answer | 00 | 01: stands, 02: doesn't | applied index, varint |
//
// None of the library's own messages begins with a zero.
#pragma once

#include <map>
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

// What the other members have answered. Times are microseconds of a monotonic clock. It serves one thread at a time.
class Answers {
 public:
  void note(MemberId from, const InquiryAnswer& answer, int64_t now_us);
  // How far that member has applied the log, as far as it has told.
  Index applied_by(MemberId member) const;
  // Would that member lead? Not where it has said no, or nothing for a while.
  struct Stands {
    bool yes = false;
    bool ask = false;  // it is time to send it the question
  };
  Stands stands(MemberId member, int64_t now_us);

 private:
  struct Heard {
    InquiryAnswer answer;
    std::optional<int64_t> at_us, asked_us;
  };
  std::map<MemberId, Heard> heard_;
};

}  // namespace replication::consensus
