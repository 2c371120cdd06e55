// The input chooses a member's state, and messages whose fields lie where the member's log begins, ends, is committed, or just
// beside. Each is refused and changes nothing, or is taken, and the log stays sound (fuzz_member.h).
#include "base/fuzz_target.h"
#include "bson/testing/grammar.h"
#include "replication/consensus/fuzz_member.h"

namespace {

using namespace replication::consensus;
using bson::testing::Choices;

constexpr MemberId senders[] = {FuzzMember::other, FuzzMember::third, FuzzMember::fourth, FuzzMember::stranger};
constexpr MessageKind kinds[] = {MessageKind::append,         MessageKind::append_response,    MessageKind::heartbeat,
                                 MessageKind::vote,           MessageKind::vote_response,      MessageKind::snapshot,
                                 MessageKind::timeout_now,    MessageKind::heartbeat_response, MessageKind::read_index,
                                 MessageKind::pre_vote,       MessageKind::pre_vote_response,  MessageKind::read_index_response,
                                 static_cast<MessageKind>(0), static_cast<MessageKind>(13)};

template <class T, size_t n>
T one_of(const T (&all)[n], Choices& choices) {
  return all[choices.below(n)];
}

// A message is made for the member as it is now.
class Making {
 public:
  Making(const FuzzMember& member, Choices& choices)
      : choices_(choices), store_(member.core().store()), status_(member.core().status()) {}

  Bytes message() {
    const MessageKind kind = one_of(kinds, choices_);
    MessageFields out(kind);
    if (const Term of = term(status_.standing.term); of != 0) out.number(field::term, of);
    const Index at = index();
    if (kind != MessageKind::timeout_now) out.number(field::index, at);
    if (!choices_.one_in(8)) out.number(field::log_term, term(term_at(at)));
    if (choices_.below(2)) out.number(field::commit, index()).number(field::commit_term, term(status_.standing.term));
    if (kind == MessageKind::append || kind == MessageKind::read_index || kind == MessageKind::read_index_response ||
        choices_.one_in(16))
      entries(out, kind == MessageKind::append ? at + 1 : 1);
    if (kind == MessageKind::snapshot) {
      const Index of = index();
      const std::vector<MemberId> members[] = {{1, 2, 3}, {1}, {2, 3}, {}, {1, 1, 0}};
      out.part(field::snapshot, snapshot_fields({of, term(term_at(of))}, members[choices_.below(std::size(members))]));
    }
    if (choices_.one_in(3)) out.number(field::reject, 1).number(field::reject_hint, index());
    if (choices_.one_in(8)) out.number(field::request_snapshot, index());
    if (choices_.one_in(4)) out.part(field::context, "context");
    if (kind == MessageKind::vote && choices_.below(2)) out.part(field::context, "CampaignTransfer");
    return out.bytes();
  }

 private:
  Index index() {
    const Index places[] = {status_.last,
                            status_.commit,
                            store_.first() - 1,
                            store_.first(),
                            status_.last + 1,
                            status_.commit + 1,
                            status_.last - 1,
                            0,
                            1,
                            status_.last + 5,
                            UINT64_MAX / 2,
                            UINT64_MAX};
    return one_of(places, choices_);
  }
  Term term_at(Index index) const {
    Term term = 0;
    return store_.term(index, term) == Lookup::found ? term : status_.standing.term;
  }
  Term term(Term near) {
    switch (choices_.below(12)) {
      case 7: return near + 1;
      case 8: return near - 1;
      case 9: return 0;
      case 10: return near + 5;
      case 11: return choices_.below(2) ? UINT64_MAX : UINT64_MAX / 2;
      default: return near;
    }
  }
  void entries(MessageFields& out, Index from) {
    const Bytes changes[] = {change_fields({}),
                             change_fields({{MemberChange::Kind::remove, 1}}),
                             change_fields({{MemberChange::Kind::add_voter, 4}}),
                             change_fields({{MemberChange::Kind::remove, 2}, {MemberChange::Kind::remove, 3}}),
                             change_fields({{MemberChange::Kind::add_learner, 1}}),
                             change_fields({{MemberChange::Kind::add_voter, 0}, {MemberChange::Kind::remove, 1}}),
                             "no change"};
    Term last = 0;
    for (size_t count = choices_.below(4); count-- > 0; ++from) {
      const Term of = std::max(last, term(std::min(term_at(from), status_.standing.term)));
      last = of;
      const auto kind = static_cast<EntryKind>(choices_.below(16) % 5 % 4);
      const Index at = choices_.one_in(16) ? index() : from;
      out.part(field::entries, entry_fields(at, of, kind, kind == EntryKind::data ? "data" : one_of(changes, choices_)));
    }
  }

  Choices& choices_;
  const LogStore& store_;
  const CoreStatus status_;
};

bool run(BytesView input) {
  Choices choices(input);
  FuzzMember member(static_cast<FuzzState>(choices.below(static_cast<size_t>(FuzzState::count))));
  bool taken = false;
  while (!choices.used_up()) {
    switch (choices.below(8)) {
      case 1:
        member.take();
        member.write();
        break;
      case 2: member.tick(static_cast<uint32_t>(1 + choices.below(40))); break;
      case 3: member.campaign(); break;
      case 4: choices.below(2) ? member.compact() : member.restart(); break;
      case 5: member.take(); break;
      default: {
        const MemberId from = one_of(senders, choices);
        const bool under_way = choices.below(2);
        const StepResult result = member.step(from, Making(member, choices).message(), under_way);
        taken = taken || result == StepResult::ok || result == StepResult::behind;
      }
    }
  }
  member.restart();
  return taken;
}

// Each is a state, and its first messages.
std::vector<Bytes> seeds() {
  std::vector<Bytes> out;
  for (char state = 0; state < static_cast<char>(FuzzState::count); ++state) {
    Bytes messages("\0\0\0\0\0\0\0\0\0\0\1\0\0\1\0\0\0\0", 18);
    if (state == static_cast<char>(FuzzState::begun)) messages[4] = 7;  // a leader is of the next term
    out.push_back(Bytes(1, state) + messages);
  }
  return out;
}

const base::FuzzTarget target("made_step", run, seeds);

}  // namespace
