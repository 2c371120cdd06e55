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
// Returns nullopt if it is damaged.
std::optional<Inquiry> decode_inquiry(BytesView message);

// Answers keeps the latest answer of each other member. Times are microseconds of a monotonic clock. An object serves one thread
// at a time.
class Answers {
 public:
  void note(MemberId from, const InquiryAnswer& answer, int64_t now_us);
  // Returns how far that member had applied the log when it last answered; 0: it has not answered.
  Index applied_by(MemberId member) const;
  // Says whether that member would lead. It wouldn't if it refused, or hasn't answered for a while.
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
