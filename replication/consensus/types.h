// These are the words of consensus: members, terms, places in the log, votes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace replication::consensus {

using base::Bytes;
using base::BytesView;

using MemberId = uint64_t;  // never 0, never used again for another member
using Term = uint64_t;
using Index = uint64_t;

// An arbiter votes and keeps no data. That is part of its id: whoever knows the configuration knows it, and a member
// can't change from one to the other but by leaving and coming back as somebody else.
inline constexpr MemberId arbiter_bit = MemberId{1} << 62;
inline bool is_arbiter(MemberId id) {
  return (id & arbiter_bit) != 0;
}

struct Position {
  Index index = 0;
  Term term = 0;
  bool operator==(const Position&) const = default;
};

enum class EntryKind : uint8_t { data = 0, one_member = 1, members = 2 };

struct LogEntry {
  Index index = 0;
  Term term = 0;
  EntryKind kind = EntryKind::data;
  Bytes data;     // empty in the entry a new leader begins its term with, and in an arbiter's log
  Bytes context;  // the proposer's own
  size_t bytes() const { return data.size() + context.size() + 32; }
  bool operator==(const LogEntry&) const = default;
};
using EntryPtr = std::shared_ptr<const LogEntry>;

struct HardState {
  Term term = 0;
  MemberId vote = 0;
  Index commit = 0;
  bool operator==(const HardState&) const = default;
};

// A Membership is the members of consensus, as of the entry at `index`.
struct Membership {
  Index index = 0;
  std::vector<MemberId> voters;
  std::vector<MemberId> learners;         // get the log, don't vote
  std::vector<MemberId> voters_outgoing;  // not empty while one membership gives way to another: both must agree
  std::vector<MemberId> learners_next;
  bool auto_leave = false;
  bool operator==(const Membership&) const = default;
};

struct MemberChange {
  enum class Kind : uint32_t { add_voter = 0, remove = 1, add_learner = 2 };
  Kind kind;
  MemberId member;
};

}  // namespace replication::consensus
