#include "replication/consensus/raft_core.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "replication/consensus/ffi_bridge.h"

namespace replication::consensus {
namespace {

// A leader that has told a member that it is behind the log tells it again after this time, in election timeouts.
constexpr uint32_t behind_retry = 2;

bool goes_before_the_write(uint32_t type) {
  // They promise nothing about the log or a vote. Held back they would make a member with a slow disk look dead.
  return type == RAFT_MSG_HEARTBEAT_RESPONSE || type == RAFT_MSG_PRE_VOTE || type == RAFT_MSG_PRE_VOTE_RESPONSE;
}

uint32_t rank_of(const Candidacy& candidacy) {
  switch (candidacy.when) {
    case Candidacy::When::as_ranked: return std::min(candidacy.rank, RAFT_RANK_CARETAKER - 1);
    case Candidacy::When::last: return RAFT_RANK_CARETAKER;
    case Candidacy::When::never: break;
  }
  return RAFT_RANK_NEVER;
}

}  // namespace

// Ready collects what one raft_ready hands out.
struct RaftCore::Ready {
  RaftCore& core;
  Output& out;
  uint64_t write;
  std::vector<EntryPtr> append;
  std::vector<Outgoing> now;
  std::vector<Index> now_last;  // index of each message's last entry
  std::vector<Outgoing> after;
  bool must_sync = false;
  std::vector<EntryPtr> committed;

  static Ready& of(void* self) { return *static_cast<Ready*>(self); }

  static void message(void* self, uint64_t to, uint32_t type, uint64_t last, bool after_persist, RaftBytes bytes) {
    Ready& ready = of(self);
    Outgoing message{to, type == RAFT_MSG_APPEND, Bytes(view(bytes))};
    if (type == RAFT_MSG_SNAPSHOT) ready.core.snapshot_ticks_.try_emplace(to, 0);
    if (after_persist && !goes_before_the_write(type)) {
      ready.after.push_back(std::move(message));
    } else {
      ready.now.push_back(std::move(message));
      ready.now_last.push_back(last);
    }
  }
  static void hard_state(void* self, const RaftHardState* state, bool must_sync) {
    of(self).core.store_.set_hard_state({state->term, state->vote, state->commit});
    of(self).must_sync |= must_sync;
  }
  static void append_entry(void* self, const RaftEntry* raw) {
    Ready& ready = of(self);
    EntryPtr entry = entry_of(*raw);
    ready.append.push_back(entry);
    if (entry->index <= ready.core.store_.last())
      ready.out.replaced_from = std::min(ready.out.replaced_from.value_or(entry->index), entry->index);
    ready.core.store_.append(ready.write, {std::move(entry)});
  }
  static void commit(void* self, const RaftEntry* raw) {
    Ready& ready = of(self);
    EntryPtr entry = ready.core.store_.cached(raw->index);
    if (!entry || entry->term != raw->term) entry = entry_of(*raw);
    ready.committed.push_back(std::move(entry));
  }
  static void read_state(void* self, uint64_t index, RaftBytes context) {
    of(self).out.reads.push_back({index, Bytes(view(context))});
  }
};

RaftCore::RaftCore(const CoreOptions& options, LogStore& store) : options_(options), store_(store) {
  const LogMeta& meta = store.meta();
  base::check(store.initialized(), "the log was begun");
  if (options.applied > store.last() || options.applied < meta.compacted.index) {
    throw base::OperationError(base::ErrorCode::data_corruption_detected,
                               "the data is as of " + std::to_string(options.applied) + ", the log goes from " +
                                   std::to_string(store.first()) + " to " + std::to_string(store.last()));
  }
  // Only what was committed is ever applied, though the note of it may have been lost with the last batch.
  HardState hard = meta.hard;
  hard.commit = std::max(hard.commit, options.applied);
  store.set_hard_state(hard);
  applied_floor_ = options.applied;
  delivered_ = std::min(options.applied, meta.members_through);

  RaftConfig config{};
  config.id = options.id;
  config.applied = delivered_;
  config.election_ticks = options.election_ticks;
  config.heartbeat_ticks = options.heartbeat_ticks;
  config.message_bytes_max = options.message_bytes_max;
  config.inflight_messages_max = options.inflight_messages_max;
  config.uncommitted_bytes_max = options.uncommitted_bytes_max;
  config.committed_bytes_max = options.committed_bytes_max;
  candidacy_ = own(options.candidacy);
  config.rank = rank_of(candidacy_);
  config.seed = options.seed;
  config.flight_bytes_min = options.flight_bytes_min;
  config.flight_bytes_first = options.flight_bytes_first;
  config.flight_bytes_max = options.flight_bytes_max;
  config.without_data = arbiter_bit;
  const RaftStorage storage = storage_of(store_);
  node_ = raft_new(&config, &storage);
  if (!node_) throw base::OperationError(base::ErrorCode::bad_value, "the member's settings are not sound; the log says why");
  standing_ = status().standing;
}

RaftCore::~RaftCore() {
  if (node_) raft_free(node_);
}

void RaftCore::tick() {
  raft_tick(node_);
  for (auto at = snapshot_ticks_.begin(); at != snapshot_ticks_.end();) {
    if (++at->second < options_.election_ticks * behind_retry) {
      ++at;
      continue;
    }
    raft_report_snapshot_failed(node_, at->first);
    at = snapshot_ticks_.erase(at);
  }
}

StepResult RaftCore::step(MemberId from, BytesView message, const std::function<bool()>& under_way) {
  Position place;
  const auto ask = [](void* self) { return (*static_cast<const std::function<bool()>*>(self))(); };
  void* const self = const_cast<std::function<bool()>*>(&under_way);
  switch (raft_step(node_, from, raw(message), self, ask, &place.index, &place.term)) {
    case RAFT_OK: return StepResult::ok;
    case RAFT_UNKNOWN_PEER: return StepResult::unknown_peer;
    case RAFT_LOST_LOG: return StepResult::lost_log;
    case RAFT_BEHIND: break;
    default: return StepResult::bad_message;
  }
  Behind behind{from, {}, {}};
  raft_read_snapshot(raw(message), &behind,
                     [](void* self, uint64_t index, uint64_t term, uint64_t conf_index, const RaftConfState* conf) {
                       Behind& out = *static_cast<Behind*>(self);
                       out.log_begins = {index, term};
                       out.members = members_of(*conf, conf_index);
                     });
  if (behind.log_begins.index == 0) return StepResult::bad_message;
  behind_ = std::move(behind);
  return StepResult::behind;
}

std::optional<Position> RaftCore::propose(BytesView data, BytesView context) {
  Position at;
  if (raft_propose(node_, raw(data), raw(context), &at.index, &at.term) != RAFT_OK) return std::nullopt;
  return at;
}

std::optional<Position> RaftCore::propose_members(const std::vector<MemberChange>& changes, BytesView context) {
  std::vector<uint32_t> kinds;
  std::vector<uint64_t> ids;
  for (const MemberChange& change : changes) {
    kinds.push_back(static_cast<uint32_t>(change.kind));
    ids.push_back(change.member);
  }
  Position at;
  if (raft_propose_members(node_, kinds.data(), ids.data(), ids.size(), raw(context), &at.index, &at.term) != RAFT_OK)
    return std::nullopt;
  return at;
}

bool RaftCore::read_index(BytesView context) {
  if (!status().may_read) return false;
  raft_read_index(node_, raw(context));
  return true;
}

bool RaftCore::transfer(MemberId to) {
  if (status().standing.role != Role::leader || is_arbiter(to)) return false;
  raft_transfer(node_, to);
  return true;
}

void RaftCore::campaign() {
  if (electable()) raft_campaign(node_);
}

void RaftCore::resign() {
  raft_resign(node_);
}

void RaftCore::report_unreachable(MemberId id) {
  raft_report_unreachable(node_, id);
}

Candidacy RaftCore::own(Candidacy candidacy) const {
  return is_arbiter(options_.id) ? Candidacy{.when = Candidacy::When::never} : candidacy;
}

void RaftCore::set_candidacy(Candidacy candidacy) {
  candidacy_ = own(candidacy);
  raft_set_rank(node_, rank_of(candidacy_));
}

void RaftCore::applied(Index index) {
  const CoreStatus now = status();
  if (index > now.applied && index <= delivered_) raft_applied(node_, index);
}

void RaftCore::written(uint64_t write) {
  writes_done_ = std::max(writes_done_, write);
  store_.written(write);
  uint64_t ready = 0;
  while (!ready_of_write_.empty() && ready_of_write_.begin()->first <= write) {
    ready = ready_of_write_.begin()->second;
    ready_of_write_.erase(ready_of_write_.begin());
  }
  if (ready) raft_persisted(node_, ready);
}

void RaftCore::compact(Index index) {
  // Nothing that replays after a restart may need what goes.
  index = std::min({index, status().applied, store_.meta().members_through});
  compacted_ |= store_.compact(index);
}

bool RaftCore::has_output() const {
  return behind_ || compacted_ || raft_has_ready(node_);
}

Output RaftCore::take_output() {
  Output out;
  Ready ready{*this, out, ++writes_, {}, {}, {}, {}, false, {}};
  if (raft_has_ready(node_)) {
    const RaftSink sink{&ready, Ready::message, Ready::hard_state, Ready::append_entry, Ready::commit, Ready::read_state};
    ready_of_write_[ready.write] = raft_ready(node_, &sink);
  }
  for (const EntryPtr& entry : ready.committed) {
    base::check(entry->index == delivered_ + 1, "committed entries come in order");
    delivered_ = entry->index;
    if (entry->kind != EntryKind::data) apply_members(*entry, out);
    if (entry->index > applied_floor_) out.committed.push_back(entry);
  }
  store_.set_members_through(delivered_);
  // Entries that the state machine applied before a restart are handed to nobody, so nobody will report them as applied.
  if (!ready.committed.empty() && delivered_ <= applied_floor_) raft_applied(node_, delivered_);

  note_standing(out);
  hold_for_arbiters(ready.now, ready.now_last);
  out.send = std::move(ready.now);
  release_to_arbiters(out.send);

  Write write{ready.write, {}, ready.must_sync || !ready.append.empty() || compacted_ || out.members, std::move(ready.after)};
  compacted_ = false;
  if (write.needed) {
    write.batch = {store_.meta(), std::move(ready.append), false, status().standing.role != Role::leader};
    out.write = std::move(write);
  } else if (writes_done_ + 1 == write.number) {
    // Nothing to write and nothing before it.
    for (Outgoing& message : write.after) out.send.push_back(std::move(message));
    written(write.number);
  } else {
    out.write = std::move(write);
  }
  out.behind = std::exchange(behind_, std::nullopt);
  return out;
}

void RaftCore::apply_members(const LogEntry& entry, Output& out) {
  if (entry.index <= store_.meta().members.index) return;  // before the restart
  struct Applied {
    Index index;
    Membership members;
  } applied{entry.index, {}};
  const int result = raft_apply_members(node_, static_cast<uint32_t>(entry.kind), raw(entry.data), &applied,
                                        [](void* self, const RaftConfState* conf) {
                                          Applied& to = *static_cast<Applied*>(self);
                                          to.members = members_of(*conf, to.index);
                                        });
  if (result != RAFT_OK) {
    // The same on every member: the leader proposed what its own membership doesn't allow.
    base::log(base::Severity::warning, base::LogComponent::repl, 7100001, "A membership change does not fit and changes nothing",
              base::Attributes().add("index", entry.index));
    return;
  }
  store_.set_members(applied.members);
  out.members = std::move(applied.members);
}

void RaftCore::note_standing(Output& out) {
  const CoreStatus now = status();
  if (now.standing == standing_) return;
  const bool led = standing_.role == Role::leader;
  const bool leads_on = now.standing.role == Role::leader && now.standing.term == standing_.term;
  if (led && !leads_on) {
    const Index from = now.commit + 1;
    // Only its own entries count: they may have been replaced already.
    Index to = out.replaced_from ? *out.replaced_from - 1 : store_.last();
    if (out.replaced_from) to = std::max(to, from - 1);
    if (to >= from) out.unclear = Unclear{from, to, standing_.term};
    held_.clear();
    snapshot_ticks_.clear();
  }
  standing_ = now.standing;
  out.standing = standing_;
}

CoreStatus RaftCore::status() const {
  RaftStatus raw;
  raft_status(node_, &raw);
  CoreStatus out;
  out.standing = {static_cast<Role>(raw.role), raw.term, raw.leader};
  out.commit = raw.commit;
  out.applied = raw.applied;
  out.last = raw.last_index;
  out.uncommitted_bytes = raw.uncommitted_bytes;
  out.may_read = out.standing.role == Role::leader && raw.committed_in_term;
  out.members_changing = raw.conf_pending;
  out.transferring_to = raw.transferring_to;
  return out;
}

std::vector<PeerProgress> RaftCore::progress() const {
  std::vector<PeerProgress> out;
  raft_progress(node_, &out, [](void* self, const RaftProgress* raw) {
    static_cast<std::vector<PeerProgress>*>(self)->push_back({raw->id, raw->matched, raw->next, raw->recently_active,
                                                              raw->receiving_snapshot, raw->flight_bytes, raw->window_bytes,
                                                              raw->resent_entries});
  });
  std::sort(out.begin(), out.end(), [](const PeerProgress& a, const PeerProgress& b) { return a.id < b.id; });
  return out;
}

}  // namespace replication::consensus
