#include "replication/consensus/fuzz_member.h"

#include "base/error.h"

namespace replication::consensus {
namespace {

constexpr Position log_begins{1, 0};  // as a set's first log does
constexpr uint32_t election_ticks = 16;

bool same(const CoreStatus& a, const CoreStatus& b) {
  return a.standing == b.standing && a.commit == b.commit && a.applied == b.applied && a.last == b.last &&
         a.uncommitted_bytes == b.uncommitted_bytes && a.may_read == b.may_read && a.members_changing == b.members_changing &&
         a.transferring_to == b.transferring_to;
}

}  // namespace

FuzzMember::FuzzMember(FuzzState state) {
  constexpr Index some = 6;
  if (state == FuzzState::arbiter) id_ = arbiter_bit | 1;
  Membership members{
      .index = log_begins.index, .voters = {id_, other, third}, .learners = {}, .voters_outgoing = {}, .learners_next = {}};
  if (state == FuzzState::alone) members.voters = {id_};
  if (state == FuzzState::changes) members.voters_outgoing = {id_, other, fourth};
  state == FuzzState::joining ? begin({log_begins.index, log_begins.term + 1}, {}) : begin(log_begins, members);
  switch (state) {
    case FuzzState::begun:
    case FuzzState::joining:
    case FuzzState::count: break;
    case FuzzState::alone:
    case FuzzState::follower:
    case FuzzState::arbiter: follow(some, false); break;
    case FuzzState::unwritten:
      follow(some, false);
      step(other, MessageFields(MessageKind::append)
                      .number(field::term, 3)
                      .number(field::index, some)
                      .number(field::log_term, 3)
                      .part(field::entries, entry_fields(some + 1, 3))
                      .bytes());
      take();
      break;
    case FuzzState::compacted:
      follow(some, true);
      compact();
      break;
    case FuzzState::pre_candidate:
      follow(some, false);
      campaign();
      take();
      write();
      break;
    case FuzzState::candidate:
      follow(some, false);
      campaign();
      take();
      write();
      step(other, MessageFields(MessageKind::pre_vote_response).number(field::term, seen_.standing.term + 1).bytes());
      take();
      write();
      break;
    case FuzzState::leader: follow(some, false), elect(); break;
    case FuzzState::changes: follow(some, true), elect(); break;
    case FuzzState::far_ahead:
      follow(some, true);
      compact();
      elect();
      break;
    case FuzzState::hands_over:
      follow(some, false);
      elect();
      core_->transfer(third);
      take();
      break;
    case FuzzState::asked_to_read:
      follow(some, false);
      elect();
      core_->read_index("context");
      take();
      break;
  }
}

void FuzzMember::begin(Position at, Membership members) {
  start_log(disk_, at, members);
  start(at.index);
}

void FuzzMember::start(Index applied) {
  store_ = std::make_unique<LogStore>(disk_);
  core_ = std::make_unique<RaftCore>(CoreOptions{.id = id_, .election_ticks = election_ticks, .applied = applied}, *store_);
  seen_ = core_->status();
}

// The other member leads in term 3, and sends entries up to `last`, of which half are of term 2.
void FuzzMember::follow(Index last, bool all_committed) {
  MessageFields message(MessageKind::append);
  message.number(field::term, 3).number(field::index, log_begins.index).number(field::log_term, log_begins.term);
  for (Index index = log_begins.index + 1; index <= last; ++index)
    message.part(field::entries, entry_fields(index, index <= last / 2 ? 2 : 3));
  message.number(field::commit, all_committed ? last : last / 2 + 1);
  base::check(step(other, message.bytes()) == StepResult::ok, "a follower takes its leader's entries");
  take();
  write();
  take();
}

void FuzzMember::elect() {
  campaign();
  for (const MessageKind kind : {MessageKind::pre_vote_response, MessageKind::vote_response}) {
    take();
    write();
    const Term term = seen_.standing.term + (kind == MessageKind::pre_vote_response ? 1 : 0);
    for (const MemberId from : {other, third}) step(from, MessageFields(kind).number(field::term, term).bytes());
  }
  take();
  write();
  base::check(seen_.standing.role == Role::leader, "a member that gets all votes leads");
  const MessageFields acknowledged = MessageFields(MessageKind::append_response).number(field::term, seen_.standing.term);
  step(other, MessageFields(acknowledged).number(field::index, seen_.last).bytes());
  for (const char* data : {"one", "two"}) core_->propose(data);
  take();
  write();
  check_status();
  step(other, MessageFields(acknowledged).number(field::index, seen_.last - 1).bytes());
  take();
}

StepResult FuzzMember::step(MemberId from, BytesView message, bool under_way) {
  const Bytes addressed = MessageFields().number(field::to, id_).number(field::from, from).bytes();
  return step_as_is(from, Bytes(message) + addressed, under_way);
}

StepResult FuzzMember::step_as_is(MemberId from, BytesView message, bool under_way) {
  const CoreStatus before = core_->status();
  const StepResult result = core_->step(from, message, [&] { return under_way; });
  if (result != StepResult::ok && result != StepResult::behind)
    base::check(same(core_->status(), before), "a message that is refused changes nothing");
  check_status();
  return result;
}

void FuzzMember::tick(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) core_->tick();
  check_status();
}

void FuzzMember::campaign() {
  core_->campaign();
  check_status();
}

void FuzzMember::take() {
  while (core_->has_output()) {
    Output out = core_->take_output();
    for (const EntryPtr& entry : out.committed) {
      base::check(delivered_.empty() || (entry->index == committed() + 1 && entry->term >= delivered_.back().term),
                  "committed entries come in order, each once");
      delivered_.push_back({entry->index, entry->term});
    }
    if (out.replaced_from) base::check(*out.replaced_from > committed(), "no committed entry is replaced");
    if (keep_sent) sent.insert(sent.end(), out.send.begin(), out.send.end());
    if (out.behind) check_begins(*out.behind);
    if (out.write) writes_.push_back(std::move(*out.write));
    core_->applied(committed());
    check_status();
  }
}

void FuzzMember::write() {
  for (; !writes_.empty(); writes_.pop_front()) {
    const Write& write = writes_.front();
    if (write.needed) disk_.write({write.batch});
    if (keep_sent) sent.insert(sent.end(), write.after.begin(), write.after.end());
    core_->written(write.number);
  }
  take();
  if (!writes_.empty()) write();
}

// An arbiter begins a log there.
void FuzzMember::check_begins(const Behind& behind) const {
  MemoryLogDisk disk;
  start_log(disk, behind.log_begins, behind.members);
  LogStore store(disk);
  const RaftCore core({.id = id_, .applied = behind.log_begins.index}, store);
  base::check(core.status().last == behind.log_begins.index, "a log begins where the leader says");
}

void FuzzMember::compact() {
  core_->compact(core_->status().applied);
  take();
  write();
}

void FuzzMember::check_status() {
  const CoreStatus now = core_->status();
  base::check(now.standing.term >= seen_.standing.term, "the term never goes back");
  base::check(now.commit >= seen_.commit && now.commit <= now.last, "the commit index goes ahead, as far as the log goes");
  base::check(now.applied >= seen_.applied && now.applied <= now.commit, "what is applied was committed");
  for (const PeerProgress& peer : core_->progress())
    base::check(peer.matched <= now.last, "nobody has entries that their leader doesn't have");
  seen_ = now;
}

void FuzzMember::restart() {
  take();
  write();
  for (const Position& position : delivered_) {
    Term term = 0;
    if (store_->term(position.index, term) == Lookup::found)
      base::check(term == position.term, "what was committed stays in the log");
  }
  const CoreStatus before = core_->status();
  const Position first{store_->first() - 1, 0};
  core_.reset();
  start(std::max(committed(), first.index));
  const CoreStatus after = core_->status();
  base::check(after.last == before.last && after.standing.term == before.standing.term && after.applied <= after.commit &&
                  store_->first() - 1 == first.index,
              "a restart finds the log as it was written");
}

}  // namespace replication::consensus
