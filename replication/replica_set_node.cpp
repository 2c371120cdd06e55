// This file carries out what consensus decides.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/host_port.h"
#include "base/log.h"
#include "base/random.h"
#include "replication/log_shortening.h"
#include "replication/member_ids.h"
#include "replication/replica_set.h"
#include "storage/engine/replayed_writes.h"
#include "storage/engine/room.h"
#include "storage/store.h"

namespace replication {

using base::Attributes;
using base::ErrorCode;
using base::LogComponent;
using base::OperationError;
using base::Severity;
using consensus::EntryKind;
using consensus::EntryPtr;
using consensus::Index;
using consensus::Role;
using storage::Stamp;

namespace {

// Bytes of entries that wait to be applied, and more come only when some have been.
constexpr uint64_t committed_bytes_max = 16 << 20;
// Bytes of entries that are applied at once: what was applied before may go to the disk with a checkpoint.
constexpr uint64_t apply_bytes_max = 4 << 20, apply_bytes_in_need = 512 << 10;
constexpr uint64_t read_bytes = 1 << 20;
constexpr int64_t election_ticks_min = 6;  // three heartbeats

Progress::Place newest_of(const LogRecord& record) {
  const LogRecord::Item& newest = record.entries.back();
  return {{newest.stamp, newest.entry.term}, newest.entry.wall_ms};
}

}  // namespace

void ReplicaSet::begin_node() {
  const MemberConfig& self = config_->members[self_];
  consensus::TcpOptions network;
  network.set_name = config_->name;
  network.self = node_id_ = consensus_id(self);
  network.listen = false;  // members come in through the port of the clients
  network.compress = true;
  network.tls = options_.tls;
  network.log_in = options_.log_in;
  transport_ = std::make_unique<consensus::TcpTransport>(network);
  connect_peers();

  const Oplog::Position newest = oplog_.newest();  // of a directory that was just opened: all of it is majority-committed
  consensus::NodeOptions options;
  options.core.id = network.self;
  options.core.committed_bytes_max = committed_bytes_max;
  options.core.election_ticks =
      static_cast<uint32_t>(std::max(election_ticks_min, config_->election_timeout_ms / options.tick_ms));
  {
    const auto image = disk_.load();
    options.core.applied = newest_index_with(store_.engine().recovered_stamp(), image->meta.compacted.index, image->last,
                                             [this](Index at) { return disk_.read(at, at + 1, 1).front(); });
  }
  options.core.candidacy = machine_.candidacy(election_rank(*config_, self));
  options.core.seed = base::entropy64();
  {
    const base::MutexLock lock(apply_mutex_);
    applied_ = options.core.applied;
    committed_ = {newest.optime, newest.wall_ms};
  }
  acks_.committed(newest.optime.ts);
  store_.engine().set_majority_committed(newest.optime.ts);
  base::log(Severity::info, LogComponent::repl, 7100030, "Joining the set",
            Attributes().add("member", self.host).add("appliedIndex", static_cast<int64_t>(options.core.applied)));
  node_ = std::make_unique<consensus::RaftNode>(options, clock_, disk_, *transport_, static_cast<consensus::NodeOwner&>(*this));
  term_ = static_cast<int64_t>(node_->status().standing.term);
  pump_ = std::make_unique<LogPump>(
      store_, oplog_, applier_.forward(),
      [this](base::BytesView data, base::BytesView context) { return node_->propose(data, context); },
      [this](consensus::Position place, const LogRecord& record) {
        const base::MutexLock lock(mutex_);
        places_.note(place.index, newest_of(record));
      });
  store_.engine().on_transaction_over([pump = pump_.get()] { pump->wake(); });
  apply_thread_ = std::thread([this] { apply_loop(); });
  transport_->set_receiver(node_.get());
  node_->start();
  // A member that is alone need not wait for another to speak up.
  if (is_alone(node_->members(), node_id_)) node_->campaign();
}

void ReplicaSet::connect_peers() {
  for (const consensus::MemberId id : std::exchange(peers_, {})) {
    if (member_of(*config_, id))
      peers_.insert(id);
    else
      transport_->remove_peer(id);
  }
  for (size_t i = 0; i < config_->members.size(); ++i) {
    const MemberConfig& member = config_->members[i];
    const auto address = base::parse_host_port(member.host);
    if (i == self_ || !address) continue;
    transport_->set_peer(consensus_id(member), address->host, address->port);
    peers_.insert(consensus_id(member));
  }
}

void ReplicaSet::start_over(const std::string& why) {
  if (starting_over_.exchange(true)) return;
  base::log(Severity::warning, LogComponent::repl, 7100031, "This member starts anew from what the set has committed",
            Attributes().add("reason", why));
  options_.restart(why);
}

// On the node's loop: notes what is new, and leaves the work to others.
void ReplicaSet::decided(const consensus::Output& out) {
  bool stepped_down = false;
  // Its own writes that the set has decided against stand in this member's data.
  if (out.replaced_from) {
    Index made = pump_->proposed_index();
    {
      const base::MutexLock lock(apply_mutex_);
      made = std::max(made, ahead_begun_);
    }
    if (*out.replaced_from <= made) note_replaced();
  }
  if (out.standing) {
    const base::MutexLock lock(mutex_);
    const MemberMachine::Stood stood = machine_.stand(*out.standing, now_us());
    stepped_down = stood.stepped_down;
    if (stood.led) {
      // Entries that are committed from here on wait until this member knows what of its own writes is in the log.
      const base::MutexLock applying(apply_mutex_);
      apply_held_ = true;
    }
    term_ = static_cast<int64_t>(out.standing->term);
    if (stepped_down)
      show_state();
    else
      options_.changed();
    woken_.notify_all();
  }
  if (stepped_down) {
    pump_->stop_leading();
    give_up_acks(ack_grace_us);
  }
  if (!out.committed.empty() || !out.reads.empty()) {
    const base::MutexLock lock(apply_mutex_);
    to_apply_.insert(to_apply_.end(), out.committed.begin(), out.committed.end());
    to_answer_.insert(to_answer_.end(), out.reads.begin(), out.reads.end());
    to_apply_woken_.notify_one();
  }
  if (out.behind) {
    const base::MutexLock lock(mutex_);
    machine_.fall_behind(*out.behind, consensus::is_arbiter(node_id_));
    woken_.notify_all();
  }
}

void ReplicaSet::note_replaced() {
  const base::TwoMutexLock lock(mutex_, apply_mutex_);
  apply_held_ = true;
  machine_.replaced();
  woken_.notify_all();
}

void ReplicaSet::apply_loop() {
  base::LogContext context("ReplApplier");
  base::MutexLock lock(apply_mutex_);
  for (;;) {
    to_apply_woken_.wait(lock, [this]() REQUIRES(apply_mutex_) {
      return apply_stopping_ || (!apply_held_ && (!to_apply_.empty() || !to_answer_.empty()));
    });
    if (apply_stopping_) return;
    std::vector<EntryPtr> entries;
    const bool plenty = storage::disk_figures(store_).state == storage::DiskState::plenty;
    const uint64_t bytes_max = plenty ? apply_bytes_max : apply_bytes_in_need;
    for (uint64_t bytes = 0; !to_apply_.empty() && bytes < bytes_max; to_apply_.pop_front()) {
      bytes += to_apply_.front()->bytes();
      entries.push_back(std::move(to_apply_.front()));
    }
    std::vector<consensus::ReadState> reads = std::exchange(to_answer_, {});
    if (!entries.empty()) {
      for (consensus::ReadState& early : early_reads_) reads.push_back(std::move(early));
      early_reads_.clear();
    }
    lock.unlock();
    try {
      if (!entries.empty()) apply(entries);
    } catch (const std::exception& error) {
      // Going on would make this member's data another than the others'. If it's damage, a copy of another's helps.
      if (replays_nothing_more(error)) return;
      base::log(Severity::fatal, LogComponent::repl, 7100032, "A majority-committed entry cannot be applied here; stopping",
                Attributes().add("error", error.what()));
      std::_Exit(14);
    }
    answer_reads(std::move(reads));
    lock.lock();
  }
}

bool ReplicaSet::replays_nothing_more(const std::exception& error) {
  const auto* const refusal = dynamic_cast<const OperationError*>(&error);
  // An entry may fit a repaired directory's older contents in no way whatever.
  const bool damage =
      refusal && refusal->code() == ErrorCode::data_corruption_detected && !store_.engine().damaged_pages().empty();
  if (!damage && !(refusal && repaired_)) return false;
  note_damage();
  if (!damage_noted_) return false;
  {
    const base::MutexLock lock(mutex_);
    machine_.end_replay();
    tell_electable();
    if (machine_.about_to_lead()) node_->resign();
  }
  base::log(Severity::error, LogComponent::repl, 7100045, "A majority-committed entry needs data that is damaged here",
            Attributes().add("error", error.what()));
  return true;
}

void ReplicaSet::apply(const std::vector<EntryPtr>& entries) {
  const base::MutexLock turn(applying_mutex_);
  std::vector<LogRecord> records;
  Stamp committed = 0;
  consensus::Term begun = 0;
  EntryPtr newest;
  std::set<consensus::Term> own_terms;
  Index ahead = 0;
  {
    const base::MutexLock lock(apply_mutex_);
    own_terms = led_terms_;
    ahead = ahead_;
  }
  const Index proposed = pump_->proposed_index();
  for (const EntryPtr& entry : entries) {
    // Somebody else's entry stands where this member had put its own, which never got as far as its log.
    if (entry->index > ahead && entry->index <= proposed && !own_terms.contains(entry->term)) return note_replaced();
    if (entry->kind != EntryKind::data) continue;
    if (entry->data.empty()) {
      if (entry->context.empty()) begun = entry->term;
      continue;
    }
    if (const Stamp stamp = stamp_of_context(entry->context); stamp != 0) {  // not a part of a transaction, but the last
      committed = stamp;
      newest = entry;
    }
    if (entry->index <= ahead || own_terms.contains(entry->term)) continue;  // this member's own: it is here already
    records.push_back(decode_record(entry->data).or_throw());
  }
  for (auto from = records.begin(); from != records.end();) {
    const auto to = due(from, records.end());
    if (to == from) return;  // this member ends first
    const std::vector<LogRecord> some(std::make_move_iterator(from), std::make_move_iterator(to));
    if (!replay(some)) return;
    from = to;
  }
  std::optional<Progress::Place> last;
  if (newest) last = place_noted(newest->index);
  if (newest && !last) last = newest_of(decode_record(newest->data).or_throw());
  {
    const base::MutexLock lock(apply_mutex_);
    applied_ = entries.back()->index;
    if (begun != 0) caught_up_ = begun;
    if (last) committed_ = *last;
  }
  if (committed != 0) {
    store_.engine().set_majority_committed(committed);
    acks_.committed(committed);
  }
  node_->applied(entries.back()->index);
  if (begun != 0) woken_.notify_all();
}

// The set may have committed an entry before the pump has noted its place.
std::optional<Progress::Place> ReplicaSet::place_noted(Index index) const {
  const base::MutexLock lock(mutex_);
  return places_.at(index);
}

// A delayed member applies a change so long after it was made first. Returns the end of the records whose time has come, after
// waiting for the first.
ReplicaSet::Records ReplicaSet::due(Records from, Records end) {
  int64_t delay_ms = 0;
  {
    const base::MutexLock lock(mutex_);
    if (self_ < config_->members.size()) delay_ms = config_->members[self_].delay_seconds * 1000;
  }
  if (delay_ms == 0) return end;
  base::MutexLock lock(apply_mutex_);
  for (;;) {
    const int64_t past = clock_.wall_ms() - delay_ms;
    const auto to =
        std::find_if(from, end, [past](const LogRecord& record) { return record.entries.front().entry.wall_ms > past; });
    if (to != from || apply_stopping_) return to;
    to_apply_woken_.wait_for(lock,
                             std::chrono::milliseconds(std::min<int64_t>(from->entries.front().entry.wall_ms - past, 1000)));
  }
}

// The configuration is written before its entry is applied here, so that a member that has the entry has the configuration; it is
// in use after it. A member that starts again meets entries of configurations before its own. They change nothing: the newest may
// be a forced one, which no entry has.
void ReplicaSet::adopt_logged_configs(const std::vector<LogRecord>& records, bool in_use) {
  for (const LogRecord& record : records) {
    for (const LogRecord::Item& logged : record.entries) {
      if (logged.entry.op != 'n') continue;
      const auto config = logged.entry.o.find("config");
      if (!config.is_object()) continue;
      SetConfig read = parse_set_config(config.as_document());
      {
        const base::MutexLock lock(mutex_);
        if (config_ && config_->place().newer_than(read.place())) continue;
        if (in_use) adopt(std::move(read));
      }
      if (!in_use) own_config_.write(config.as_document());
    }
  }
}

// A new primary's first entry is majority-committed when members with data have it; with an arbiter in their place that may be
// never, as long as one is away. What this member's log has is applied here then, as a primary's own writes are: committed later,
// or rolled back.
bool ReplicaSet::apply_ahead() {
  // Whoever applies entries now may wait for room on the disk for long.
  const std::unique_lock turn(applying_mutex_, std::try_to_lock);
  if (!turn) return false;
  Index at = 0;
  {
    const base::MutexLock lock(apply_mutex_);
    at = applied_ + 1;
  }
  const Index last = node_->status().last;
  std::vector<LogRecord> records;
  while (at <= last) {
    std::vector<EntryPtr> some;
    if (node_->entries(at, last + 1, read_bytes, some) != consensus::Lookup::found || some.empty()) return false;
    for (const EntryPtr& entry : some) {
      if (entry->kind == EntryKind::data && !entry->data.empty()) records.push_back(decode_record(entry->data).or_throw());
    }
    at += some.size();
  }
  if (!records.empty()) {
    {
      const base::MutexLock lock(apply_mutex_);
      uncommitted_upto_ = records.back().last();
      ahead_begun_ = last;
    }
    {
      const storage::ReplayedWrites replayed;
      adopt_logged_configs(records, false);
      applier_.apply(records);
    }
    adopt_logged_configs(records, true);
  }
  const base::MutexLock lock(apply_mutex_);
  ahead_ = ahead_begun_ = last;
  return true;
}

void ReplicaSet::answer_reads(std::vector<consensus::ReadState> reads) {
  std::vector<Asked> answered;
  {
    const base::MutexLock lock(apply_mutex_);
    for (consensus::ReadState& read : reads) {
      if (read.index > applied_) {
        early_reads_.push_back(std::move(read));
        continue;
      }
      const auto asked = asked_.find(std::string(read.context));
      if (asked == asked_.end()) continue;
      answered.push_back(std::move(asked->second));
      asked_.erase(asked);
    }
  }
  for (auto& done : answered) done(true);
}

}  // namespace replication
