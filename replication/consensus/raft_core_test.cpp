#include "replication/consensus/raft_core.h"

#include <catch2/catch.hpp>

#include "replication/consensus/fuzz_member.h"

using namespace replication::consensus;

namespace {

constexpr MemberId other = FuzzMember::other;

MessageFields message(MessageKind kind, Term term) {
  MessageFields out(kind);
  out.number(field::term, term);
  return out;
}

// An append behind the entry at `before`.
MessageFields append(Term term, Position before) {
  return message(MessageKind::append, term).number(field::index, before.index).number(field::log_term, before.term);
}

Bytes snapshot(Term term, BytesView fields) {
  return message(MessageKind::snapshot, term).part(field::snapshot, fields).bytes();
}

void check_refused(FuzzState state, const std::vector<Bytes>& messages) {
  for (const Bytes& one : messages) {
    FuzzMember member(state);
    CAPTURE(base::to_hex(one));
    CHECK(member.step(other, one) == StepResult::bad_message);
    member.restart();
  }
}

}  // namespace

TEST_CASE("a core refuses entries that don't follow its log, though the library takes their terms for right") {
  const Bytes entry = entry_fields(21, 3), of_no_term = entry_fields(7, 0);
  check_refused(FuzzState::follower, {append(3, {20, 0}).bytes(), append(3, {20, 0}).part(field::entries, entry).bytes(),
                                      append(3, {20, 0}).number(field::commit, 20).bytes(),
                                      append(3, {6, 3}).part(field::entries, of_no_term).bytes()});
  check_refused(FuzzState::begun, {append(3, {0, 0}).part(field::entries, entry_fields(1, 0)).bytes()});
}

TEST_CASE("a core takes entries from where a set's first log begins, which is of no term") {
  FuzzMember member(FuzzState::begun);
  CHECK(member.step(other, append(3, {1, 0}).part(field::entries, entry_fields(2, 3)).bytes()) == StepResult::ok);
  CHECK(member.core().status().last == 2);
}

TEST_CASE("a member of no term grants a pre-vote, or refuses the message") {
  const auto pre_vote = [](Position last) {
    return message(MessageKind::pre_vote, 1).number(field::index, last.index).number(field::log_term, last.term);
  };
  FuzzMember member(FuzzState::begun);
  CHECK(member.step(other, pre_vote({1, 0}).bytes()) == StepResult::ok);
  check_refused(FuzzState::begun, {pre_vote({0, 0}).bytes()});
}

TEST_CASE("a core refuses terms and places that leave no room for the next one") {
  check_refused(FuzzState::follower,
                {message(MessageKind::timeout_now, UINT64_MAX).bytes(), message(MessageKind::heartbeat, UINT64_MAX).bytes(),
                 message(MessageKind::append_response, 3).number(field::reject_hint, UINT64_MAX).bytes()});
}

TEST_CASE("a core refuses a snapshot in which no log can begin") {
  for (const Position begins : {Position{20, 3}, Position{1, 0}}) {
    FuzzMember member(FuzzState::joining);
    CHECK(member.step(other, snapshot(3, snapshot_fields(begins, {1, 2, 3}))) == StepResult::behind);
  }
  const Bytes without_place = MessageFields().part(field::snapshot_data, Bytes(8, '\1')).bytes();
  for (const FuzzState state : {FuzzState::joining, FuzzState::follower}) {
    check_refused(state, {message(MessageKind::snapshot, 3).bytes(), snapshot(3, without_place),
                          snapshot(3, snapshot_fields({0, 0}, {1})), snapshot(3, snapshot_fields({UINT64_MAX, 3}, {1})),
                          snapshot(3, snapshot_fields({20, 4}, {1})), snapshot(3, snapshot_fields({20, 3}, {})),
                          snapshot(3, snapshot_fields({20, 3}, {1, 1})), snapshot(3, snapshot_fields({20, 3}, {0}))});
  }
}

TEST_CASE("a core refuses what no member asks of another") {
  const Bytes read = message(MessageKind::read_index, 3).part(field::entries, entry_fields(0, 0)).bytes();
  const Bytes wants_snapshot =
      message(MessageKind::append_response, 4).number(field::reject, 1).number(field::request_snapshot, 5).bytes();
  check_refused(FuzzState::follower, {read});
  check_refused(FuzzState::leader, {wants_snapshot});
}

TEST_CASE("a leader refuses acknowledgements of entries that it doesn't have") {
  FuzzMember member(FuzzState::leader);
  const CoreStatus now = member.core().status();
  const MessageFields answer = message(MessageKind::append_response, now.standing.term);
  CHECK(member.step(other, MessageFields(answer).number(field::index, now.last + 1).bytes()) == StepResult::bad_message);
  CHECK(member.step(other, MessageFields(answer).number(field::index, now.last).bytes()) == StepResult::ok);
}

TEST_CASE("a candidate whose log isn't on disk refuses votes, which it can't have asked for") {
  FuzzMember member(FuzzState::unwritten);
  CHECK(member.step(other, message(MessageKind::timeout_now, 3).bytes()) == StepResult::ok);
  CHECK(member.core().status().standing.role == Role::candidate);
  const Bytes vote = message(MessageKind::vote_response, 4).bytes();
  CHECK(member.step(other, vote) == StepResult::bad_message);
  member.take();
  member.write();
  CHECK(member.step(other, vote) == StepResult::ok);
  CHECK(member.core().status().standing.role == Role::leader);
  member.restart();
}

TEST_CASE("a member that elects itself waits until its log is on disk") {
  FuzzMember member(FuzzState::alone);
  const Bytes stand = message(MessageKind::timeout_now, 3).bytes();
  CHECK(member.step(other, append(3, {6, 3}).part(field::entries, entry_fields(7, 3)).bytes()) == StepResult::ok);
  CHECK(member.step(other, stand) == StepResult::ok);
  member.campaign();
  member.tick(200);
  CHECK(member.core().status().standing.role == Role::follower);
  member.take();
  member.write();
  CHECK(member.step(other, stand) == StepResult::ok);
  CHECK(member.core().status().standing.role == Role::leader);
  member.restart();
}

TEST_CASE("a member that is no voter doesn't stand for election") {
  FuzzMember member(FuzzState::joining);
  member.campaign();
  member.tick(200);
  CHECK(member.core().status().standing.role == Role::follower);
}

TEST_CASE("a committed membership change of an unknown kind changes nothing") {
  FuzzMember member(FuzzState::follower);
  const Bytes unknown_kind = change_fields({{static_cast<MemberChange::Kind>(9), 4}});
  const Bytes unknown_transition = MessageFields().number(field::transition, 9).bytes();
  const Bytes entries = append(3, {6, 3})
                            .part(field::entries, entry_fields(7, 3, EntryKind::members, unknown_kind))
                            .part(field::entries, entry_fields(8, 3, EntryKind::members, unknown_transition))
                            .number(field::commit, 8)
                            .bytes();
  const std::vector<MemberId> before = member.core().store().meta().members.voters;
  CHECK(member.step(other, entries) == StepResult::ok);
  member.take();
  member.write();
  CHECK(member.committed() == 8);
  CHECK(member.core().store().meta().members.voters == before);
}
