// Messages come to a member's core in one of its states. Each is refused and changes nothing, or is taken, and the log stays
// sound (fuzz_member.h).
//
//   1 byte: the state | for each message 1 byte: what happens before it, and who sends it | a part: the message
#include "base/fuzz_target.h"
#include "replication/consensus/fuzz_member.h"

namespace {

using namespace replication::consensus;

constexpr MemberId senders[] = {FuzzMember::other, FuzzMember::third, FuzzMember::fourth, FuzzMember::stranger};
constexpr uint8_t sender_bits = 3, as_is = 4, of_this_term = 8, of_next_term = 16, written = 32, later = 64, under_way = 128;

bool run(BytesView input) {
  if (input.empty()) return false;
  FuzzMember member(static_cast<FuzzState>(static_cast<uint8_t>(input[0]) % static_cast<size_t>(FuzzState::count)));
  input.remove_prefix(1);
  bool taken = false;
  while (!input.empty()) {
    const auto how = static_cast<uint8_t>(input[0]);
    base::FuzzReader reader(input.substr(1));
    Bytes message(reader.part());
    input = reader.rest();
    if (how & written) member.take(), member.write();
    if (how & later) member.tick(20), member.take();
    const Term term = member.core().status().standing.term;
    if (how & (of_this_term | of_next_term))
      message += MessageFields().number(field::term, term + (how & of_next_term ? 1 : 0)).bytes();
    const MemberId from = senders[how & sender_bits];
    const StepResult result =
        how & as_is ? member.step_as_is(from, message, how & under_way) : member.step(from, message, how & under_way);
    taken = taken || result == StepResult::ok || result == StepResult::behind;
    if (!(how & written)) member.take();
  }
  member.restart();
  return taken;
}

Bytes input(FuzzState state, const std::vector<std::pair<uint8_t, Bytes>>& messages) {
  Bytes out(1, static_cast<char>(state));
  for (const auto& [how, message] : messages) out += Bytes(1, static_cast<char>(how)) + base::FuzzWriter().part(message).rest();
  return out;
}

// A leader's messages to the other member, which has an empty log.
std::vector<std::pair<uint8_t, Bytes>> sent_by_leader() {
  FuzzMember leader(FuzzState::leader);
  leader.keep_sent = true;
  leader.tick(4);
  leader.take();
  leader.write();
  std::vector<std::pair<uint8_t, Bytes>> out;
  for (const Outgoing& message : leader.sent) out.emplace_back(written, message.bytes);
  return out;
}

std::vector<Bytes> seeds() {
  using Kind = MessageKind;
  const auto message = [](Kind kind) { return MessageFields(kind); };
  const Bytes beat = message(Kind::heartbeat).number(field::commit, 4).part(field::context, "context").bytes();
  const Bytes acknowledged = message(Kind::append_response).number(field::index, 8).number(field::commit, 7).bytes();
  const Bytes refused = message(Kind::append_response)
                            .number(field::reject, 1)
                            .number(field::index, 6)
                            .number(field::reject_hint, 2)
                            .number(field::log_term, 2)
                            .bytes();
  const Bytes vote = message(Kind::vote).number(field::index, 9).number(field::log_term, 3).bytes();
  const Bytes entries =
      message(Kind::append)
          .number(field::index, 6)
          .number(field::log_term, 3)
          .number(field::commit, 7)
          .part(field::entries, entry_fields(7, 3))
          .part(field::entries, entry_fields(8, 3, EntryKind::members, change_fields({{MemberChange::Kind::add_voter, 4}})))
          .bytes();
  const Bytes snapshot = message(Kind::snapshot).part(field::snapshot, snapshot_fields({20, 2}, {1, 2, 3})).bytes();
  const Bytes read = message(Kind::read_index).part(field::entries, entry_fields(0, 0)).bytes();
  const Bytes granted = message(Kind::vote_response).bytes(), pre_granted = message(Kind::pre_vote_response).bytes();
  return {input(FuzzState::begun, sent_by_leader()),
          input(FuzzState::joining, {{of_next_term, beat}, {of_next_term, snapshot}}),
          input(FuzzState::alone, {{of_this_term, entries}, {of_this_term, message(Kind::timeout_now).bytes()}}),
          input(FuzzState::follower, {{of_this_term, beat}, {of_this_term | written, entries}, {of_next_term | later, vote}}),
          input(FuzzState::unwritten, {{of_this_term, message(Kind::timeout_now).bytes()}, {of_this_term | written, granted}}),
          input(FuzzState::compacted, {{of_this_term, snapshot}, {of_next_term, entries}}),
          input(FuzzState::pre_candidate, {{of_next_term, pre_granted}, {of_this_term | written, granted}}),
          input(FuzzState::candidate, {{of_this_term, granted}, {of_this_term | written, acknowledged}}),
          input(FuzzState::leader, {{of_this_term, acknowledged}, {of_this_term | 1, refused}, {1, read}}),
          input(FuzzState::far_ahead, {{of_this_term | 1, refused}, {of_this_term | 1 | later, acknowledged}}),
          input(FuzzState::hands_over, {{of_this_term | 1, acknowledged}, {of_next_term | 1, vote}}),
          input(FuzzState::asked_to_read,
                {{of_this_term | later | under_way,
                  message(Kind::heartbeat_response).part(field::context, "context").number(field::commit, 7).bytes()}}),
          input(FuzzState::changes, {{of_this_term | written, acknowledged}, {of_this_term | 2, acknowledged}}),
          input(FuzzState::arbiter, {{of_this_term | written, entries}, {of_this_term, beat}})};
}

const base::FuzzTarget target("step", run, seeds);

}  // namespace
