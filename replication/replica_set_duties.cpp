// A member has duties that are due at certain times: it takes over the lead, aligns consensus with the configuration,
// and keeps the log short. member_duties.h has their order; this file does them.
#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "replication/log_shortening.h"
#include "replication/member_ids.h"
#include "replication/membership_alignment.h"
#include "replication/repair_mark.h"
#include "replication/replica_set.h"
#include "replication/rollback_files.h"
#include "replication/succession.h"
#include "storage/store.h"

namespace replication {

using base::Attributes;
using base::ErrorCode;
using base::LogComponent;
using base::OperationError;
using base::Severity;
using consensus::Index;
using consensus::MemberId;
using consensus::PeerProgress;
using consensus::Role;
using storage::Stamp;

namespace {

constexpr auto round = std::chrono::milliseconds(100);
constexpr auto counting_round = std::chrono::milliseconds(2);
constexpr int64_t second_us = 1'000'000;
constexpr int64_t noop_every_us = 10 * second_us;  // as mongod's periodicNoopIntervalSecs

}  // namespace

void ReplicaSet::duty_loop() {
  base::LogContext context("ReplCoord");
  base::MutexLock lock(mutex_);
  while (!stopping_) {
    woken_.wait_for(lock, acks_.counts_members() ? counting_round : round);
    if (stopping_) return;
    lock.unlock();
    try {
      do_round();
    } catch (const std::exception& error) {
      const auto* const refusal = dynamic_cast<const OperationError*>(&error);
      if (refusal && refusal->code() == ErrorCode::out_of_disk_space) {
        lack_room(refusal->what());
      } else {
        base::log(Severity::warning, LogComponent::repl, 7100033, "A duty of this member failed; trying again",
                  Attributes().add("error", error.what()));
      }
    }
    lock.lock();
  }
}

void ReplicaSet::ask(const Question& question) {
  const base::MutexLock lock(mutex_);
  question(machine_, now_us());
}

bool ReplicaSet::takes_part() {
  const base::MutexLock lock(mutex_);
  return node_ && !forced_ && !starting_over_;
}

void ReplicaSet::look_around() {
  look_for_damage();
  look_for_room();
}

void ReplicaSet::tend_readers() {
  ask_reads_again();
  renew_committed();
}

// A caretaker leads until a member that may be PRIMARY has all that this one's log has.
void ReplicaSet::pass_on_lead() {
  const base::MutexLock lock(mutex_);
  const consensus::Membership members = node_->members();
  const std::vector<PeerProgress> progress = node_->progress();
  const auto heir = best_caught_up({.config = *config_,
                                    .self = node_id_,
                                    .last = node_->status().last,
                                    .members = members,
                                    .progress = progress,
                                    .stands = [this](MemberId id) { return node_->stands(id); }},
                                   -1, {}, 0);
  if (!heir) return;
  if (std::exchange(heir_, *heir) != *heir)
    base::log(Severity::info, LogComponent::repl, 7100046,
              "This member's priority is 0, or its disk is full; the lead goes to one that may be primary",
              Attributes().add("member", static_cast<int64_t>(*heir)));
  node_->transfer(*heir);
}

// The engine knows the damaged pages that somebody wanted to read. Another member has the data whole.
void ReplicaSet::look_for_damage() {
  if (damage_noted_ || store_.engine().damaged_pages().empty()) return;
  note_damage();
}

void ReplicaSet::note_damage() {
  const base::MutexLock lock(mutex_);
  copy_on_damage(7100044, "Some of this member's data is damaged; it will copy another member's data");
}

// Returns false if no other member has data.
bool ReplicaSet::copy_on_damage(int log_id, std::string_view why) {
  const auto with_data =
      std::count_if(config_->members.begin(), config_->members.end(), [](const MemberConfig& member) { return !member.arbiter; });
  if (with_data < 2) return false;
  if (damage_noted_.exchange(true)) return true;
  base::log(Severity::warning, LogComponent::repl, log_id, std::string(why), Attributes());
  machine_.data_damaged();
  return true;
}

void ReplicaSet::distrust_repair() {
  const bool arbiter = self_ < config_->members.size() && config_->members[self_].arbiter;
  if (!arbiter &&
      copy_on_damage(7100092, "This member's data was repaired, and may lack documents; it will copy another member's data")) {
    repaired_ = true;
    machine_.distrust_data();
    return;
  }
  forget_repair(store_);
  if (arbiter) return;
  base::log(Severity::warning, LogComponent::repl, 7100093,
            "This member's data was repaired, and no other member has data: what the repair left is the set's data",
            Attributes());
}

void ReplicaSet::renew_electable() {
  if (machine_.renew_electable(now_us())) show_electability();
}

void ReplicaSet::tell_electability() {
  const base::MutexLock lock(mutex_);
  show_electability();
}

void ReplicaSet::show_electability() {
  tell_electable();
  if (machine_.electable() && is_alone(node_->members(), node_id_)) node_->campaign();
}

// Everything up to the first entry of its term is applied, majority-committed or ahead of that: what it writes from here on comes
// after all that was committed before.
void ReplicaSet::take_over() {
  consensus::Term term = 0;
  SetConfig config;
  bool ahead = false;
  {
    const base::MutexLock lock(mutex_);
    term = machine_.standing().term;
    const bool arbiters =
        std::any_of(config_->members.begin(), config_->members.end(), [](const MemberConfig& member) { return member.arbiter; });
    const base::MutexLock applying(apply_mutex_);
    if (apply_held_) return;
    const MemberMachine::TakeOver how = machine_.take_over(caught_up_ == term, arbiters, now_us());
    if (how == MemberMachine::TakeOver::no) return;
    ahead = how == MemberMachine::TakeOver::ahead;
  }
  if (ahead && !apply_ahead()) return;
  {
    const base::MutexLock lock(mutex_);
    if (!machine_.write_in(term)) return;
    const base::MutexLock applying(apply_mutex_);
    led_terms_.insert(term);
    config = *config_;
  }
  Stamp newest = oplog_.newest().optime.ts;
  {
    const base::MutexLock turn(applying_mutex_);
    newest = std::max(newest, applier_.drop_parts());
  }
  store_.engine().raise_stamp(newest);
  config.term = static_cast<int64_t>(term);
  pump_->lead(term, newest);
  const Stamp written = write_config(config, "new primary");
  {
    const base::MutexLock lock(mutex_);
    if (!machine_.lead(term, now_us())) return;  // over already; end_leadership finds what was written
    config_written_ = written;
    elected_ms_ = clock_.wall_ms();
    adopt(std::move(config));
    base::log(Severity::info, LogComponent::repl, 21331, "Transition to primary complete; database writes are now permitted",
              Attributes().add("term", static_cast<int64_t>(term)));
  }
  woken_.notify_all();
  options_.became_primary();
}

void ReplicaSet::end_leadership() {
  WritesStopped{*this};
  pump_->stop_leading();
  answer_all_reads(false);
  // A write that was committed here and has no place in the log is nobody else's; one that has a place may still be
  // majority-committed.
  bool wrote = false;
  {
    const base::MutexLock lock(mutex_);
    wrote = machine_.stop_writing();
  }
  if (wrote && pump_->left_over()) return roll_back("some of this member's last writes had not reached the log");
  {
    const Stamp newest = oplog_.newest().optime.ts;
    const base::TwoMutexLock lock(mutex_, apply_mutex_);
    uncommitted_upto_ = newest;
    if (!starting_over_ && !machine_.unsure()) apply_held_ = false;
  }
  to_apply_woken_.notify_one();
}

void ReplicaSet::roll_back() {
  roll_back("another primary's writes replaced some of this member's");
}

void ReplicaSet::roll_back(const std::string& why) {
  give_up_acks(0);
  expire_waits();
  Stamp kept = 0;
  {
    const base::MutexLock lock(apply_mutex_);
    kept = committed_.optime.ts;
  }
  try {
    const int64_t documents = write_rollback_files(store_, oplog_, kept, options_.rollback_directory, clock_.wall_ms());
    base::log(Severity::warning, LogComponent::repl, 21612, "Rolled back writes were kept",
              Attributes().add("documents", documents).add("directory", options_.rollback_directory));
  } catch (const std::exception& error) {
    base::log(Severity::error, LogComponent::repl, 21613, "Rolled back writes could not be kept",
              Attributes().add("error", error.what()));
  }
  start_over(why);
}

void ReplicaSet::align_members() {
  std::shared_ptr<const SetConfig> config;
  MemberId self = 0;
  {
    const base::MutexLock lock(mutex_);
    config = config_;
    if (self_ < config->members.size()) self = consensus_id(config->members[self_]);
  }
  const consensus::CoreStatus status = node_->status();
  const consensus::Membership members = node_->members();
  const std::vector<PeerProgress> progress = node_->progress();
  const Alignment alignment = align({.config = *config,
                                     .self = self,
                                     .status = status,
                                     .members = members,
                                     .progress = progress,
                                     .log_begins = node_->log_meta().compacted.index,
                                     .entry = [this](Index at) { return logged(at); }});
  if (alignment.shorten_first) {
    store_.engine().checkpoint();
    shorten_log();
  }
  if (!alignment.step || !node_->propose_members({alignment.step->change})) return;
  base::log(Severity::info, LogComponent::repl, 7100034, "The membership of consensus changes",
            Attributes().add("member", static_cast<int64_t>(alignment.step->change.member)).add("change", alignment.step->what));
}

// Finds how far everyone is, for those who wait for a number of members.
void ReplicaSet::count_members() {
  if (!acks_.counts_members()) return;
  const std::vector<PeerProgress> progress = node_->progress();
  base::MutexLock lock(mutex_);
  const std::shared_ptr<const SetConfig> config = config_;
  std::vector<MemberReached> members;
  for (size_t i = 0; i < config->members.size(); ++i) {
    const MemberConfig& member = config->members[i];
    const PeerProgress* reached = member.arbiter ? nullptr : progress_of(progress, consensus_id(member));
    if (!reached) continue;
    // A member counts with what it has on its disk and shows, so that a client that waited for it may read it there.
    Index shown = reached->matched;
    if (i != self_) {
      shown = std::min(shown, node_->applied_by(reached->id));
      if (shown < reached->matched) node_->ask(reached->id);
    }
    const Stamp upto = places_.stamp_upto(shown);
    members.push_back({&member, upto, i == self_ ? oplog_.newest().optime.ts : upto});
  }
  lock.unlock();
  acks_.reached(*config, members);
}

// A reader that waits for a time at which nothing was written, on any member, waits for the log to pass it.
void ReplicaSet::advance_time() {
  const int64_t now = now_us();
  const Stamp newest = oplog_.newest().optime.ts;
  const bool quiet = newest == advance_seen_;
  if (!quiet) advance_seen_ = newest, advance_seen_us_ = now;
  const bool behind = quiet && std::max(store_.engine().last_stamp(), known_time()) > newest;
  if (!behind && now - advance_seen_us_ < noop_every_us) return;
  bson::Builder message;
  message.append("msg", "periodic noop");
  try {
    write_noop(known_time(), message.done());
  } catch (const OperationError& error) {
    // The duties that come after this one may be what helps: another member should lead.
    if (error.code() != ErrorCode::out_of_disk_space) throw;
    lack_room(error.what());
  }
}

void ReplicaSet::renew_committed() {
  Stamp committed = 0;
  {
    const base::MutexLock lock(apply_mutex_);
    committed = committed_.optime.ts;
  }
  store_.engine().set_majority_committed(committed);
}

void ReplicaSet::forget_places() {
  const Index applied = node_->status().applied;
  const std::vector<PeerProgress> progress = node_->progress();
  const base::MutexLock lock(mutex_);
  places_.forget(applied, progress);
}

void ReplicaSet::ask_reads_again() {
  std::vector<std::string> contexts;
  {
    const base::MutexLock lock(apply_mutex_);
    for (const auto& [context, done] : asked_) contexts.push_back(context);
  }
  for (const std::string& context : contexts) node_->read_index(context);
}

void ReplicaSet::answer_all_reads(bool leads) {
  std::map<std::string, Asked> asked;
  {
    const base::MutexLock lock(apply_mutex_);
    asked.swap(asked_);
  }
  for (auto& [context, done] : asked) done(leads);
}

// nullptr: the log doesn't have the entry.
consensus::EntryPtr ReplicaSet::logged(Index index) {
  std::vector<consensus::EntryPtr> found;
  return node_->entries(index, index + 1, 1, found) == consensus::Lookup::found ? found.front() : nullptr;
}

// Entries that a checkpoint has aren't replayed again; members that lag are waited for within bounds.
void ReplicaSet::shorten_log() {
  const Stamp held = store_.engine().checkpointed_stamp();
  const consensus::LogMeta meta = node_->log_meta();
  const consensus::CoreStatus status = node_->status();
  const Index checkpointed = newest_index_with(held, meta.compacted.index, status.applied, [this](Index at) {
    consensus::EntryPtr entry = logged(at);
    if (!entry) throw OperationError(ErrorCode::internal_error, "an entry of the log is gone");
    return entry;
  });
  const auto upto = shorten_upto({.checkpointed = checkpointed,
                                  .compacted = meta.compacted.index,
                                  .applied = status.applied,
                                  .leads = status.standing.role == Role::leader,
                                  .too_long = store_.engine().file_bytes(consensus::log_table) >= log_bytes_kept},
                                 node_->progress());
  if (upto) node_->compact(*upto);
}

// An arbiter has nothing to copy: its log begins where the others' does.
void ReplicaSet::begin_log_anew(const consensus::Behind& behind) {
  stop_voting();  // nobody else writes the log from here on
  start_log(disk_, behind.log_begins, behind.members);
  start_over("this arbiter's log was too old");
}

void ReplicaSet::copy_anew() {
  {
    const base::MutexLock lock(mutex_);
    machine_.await_data(now_us());
    show_state();
  }
  // A member whose log is whole goes on acknowledging while another one's data is copied, and the copy may lack what came then.
  // If something came, the data is copied once more: nothing comes any more, and whatever was acknowledged is in that copy.
  const LogEnd before = log_end();
  bool stopped = false;
  const auto source = [&] { return stopped ? std::nullopt : copy_source(); };
  options_.copy(source, [&] {
    const consensus::HardState own = stop_voting();
    // Another leader's entries may have taken the place of as many.
    if (!std::exchange(stopped, true) && log_end() != before)
      throw OperationError(ErrorCode::operation_failed, "this member acknowledged entries of the log meanwhile");
    return own;
  });
  start_over("another member's data was copied");
}

std::optional<std::string> ReplicaSet::copy_source() {
  const base::MutexLock lock(mutex_);
  const MemberId leading = machine_.standing().leader;
  const MemberConfig* leader = leading != 0 ? member_of(*config_, leading) : nullptr;
  return leader ? std::optional(leader->host) : std::nullopt;
}

consensus::HardState ReplicaSet::stop_voting() {
  if (transport_) transport_->set_receiver(nullptr);
  if (node_) node_->stop();
  const auto image = disk_.load();
  return image ? image->meta.hard : consensus::HardState();
}

}  // namespace replication
