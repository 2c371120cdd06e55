// A member has duties that are due at certain times: it takes over and gives up the lead, aligns consensus with the
// configuration, and keeps the log short.
#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "replication/member_ids.h"
#include "replication/replica_set.h"
#include "replication/rollback_files.h"
#include "storage/store.h"

namespace replication {

using base::Attributes;
using base::ErrorCode;
using base::LogComponent;
using base::OperationError;
using base::Severity;
using consensus::Index;
using consensus::MemberChange;
using consensus::MemberId;
using consensus::PeerProgress;
using consensus::Role;
using storage::Stamp;

namespace {

constexpr auto round = std::chrono::milliseconds(100);
constexpr auto counting_round = std::chrono::milliseconds(2);
constexpr int64_t second_us = 1'000'000;
constexpr int64_t noop_every_us = 10 * second_us;  // as mongod's periodicNoopIntervalSecs
constexpr Index joins_within = 1000;               // entries a new voter may lag
constexpr size_t places_max = 100'000;
constexpr int64_t log_bytes_kept = 256 << 20;  // for members that lag
constexpr auto take_over_wait = std::chrono::seconds(2);
constexpr int64_t resign_wait_us = second_us;         // for somebody to have the whole log
constexpr int64_t answers_within_us = second_us / 2;  // of those who are asked whether they would lead

bool contains(const std::vector<MemberId>& ids, MemberId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

const PeerProgress* progress_of(const std::vector<PeerProgress>& all, MemberId id) {
  const auto at = std::find_if(all.begin(), all.end(), [id](const PeerProgress& one) { return one.id == id; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace

void ReplicaSet::duty_loop() {
  base::LogContext context("ReplCoord");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    woken_.wait_for(lock, acks_.counts_members() ? counting_round : round);
    if (stopping_) return;
    const MemberMachine::Due due = machine_.due(now_us());
    const bool runs = node_ != nullptr && !forced_;
    lock.unlock();
    try {
      if (due.roll_back) roll_back("another primary's writes replaced some of this member's");
      if (due.end_leadership) end_leadership();
      if (runs && !starting_over_) run_duties();
      acks_.expire(now_us());
      if (due.log_begins && !starting_over_) begin_log_anew(*due.log_begins);
      if (due.copy && !starting_over_) copy_anew();
    } catch (const std::exception& error) {
      base::log(Severity::warning, LogComponent::repl, 7100033, "A duty of this member failed; trying again",
                Attributes().add("error", error.what()));
    }
    lock.lock();
  }
}

void ReplicaSet::run_duties() {
  take_over();
  if (state() == MemberState::primary) lead();
  ask_reads_again();
  renew_committed();
  bool shorten = false;
  {
    std::lock_guard lock(mutex_);
    shorten = machine_.shorten_due(now_us());
  }
  if (shorten) shorten_log();
  renew_electable();
}

void ReplicaSet::lead() {
  MemberMachine::PrimaryDue due;
  {
    std::lock_guard lock(mutex_);
    due = machine_.primary_due(now_us());
  }
  if (acks_.counts_members()) count_members();
  if (due.align) align_members();
  forget_places();
  if (due.advance_time) advance_time(now_us());
  if (due.hand_over) hand_over_to_better();
}

void ReplicaSet::renew_electable() {
  std::lock_guard lock(mutex_);
  if (!machine_.renew_electable(now_us())) return;
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
    std::lock_guard lock(mutex_);
    term = machine_.standing().term;
    const bool arbiters =
        std::any_of(config_->members.begin(), config_->members.end(), [](const MemberConfig& member) { return member.arbiter; });
    std::lock_guard applying(apply_mutex_);
    if (apply_held_) return;
    const MemberMachine::TakeOver how = machine_.take_over(caught_up_ == term, arbiters, now_us());
    if (how == MemberMachine::TakeOver::no) return;
    ahead = how == MemberMachine::TakeOver::ahead;
  }
  if (ahead && !apply_ahead()) return;
  {
    std::lock_guard lock(mutex_);
    if (!machine_.write_in(term)) return;
    std::lock_guard applying(apply_mutex_);
    led_terms_.insert(term);
    config = *config_;
  }
  const Stamp newest = oplog_.newest().optime.ts;
  store_.engine().raise_stamp(newest);
  config.term = static_cast<int64_t>(term);
  pump_->lead(term, newest);
  const Stamp written = write_config(config, "new primary");
  {
    std::lock_guard lock(mutex_);
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

ReplicaSet::WritesStopped::WritesStopped(ReplicaSet& set) : set_(set) {
  {
    std::lock_guard lock(set_.mutex_);
    if (++set_.stepping_down_ == 1 && set_.state_ == MemberState::primary) set_.options_.changed();
  }
  // The mutex alone would let new ones in before who waits for it.
  set_.writes_held_ = true;
  set_.options_.interrupt_writers();
  alone_ = std::unique_lock(set_.primary_mutex_);
  set_.writes_held_ = false;
}

ReplicaSet::WritesStopped::~WritesStopped() {
  std::lock_guard lock(set_.mutex_);
  if (--set_.stepping_down_ == 0 && set_.state_ == MemberState::primary) set_.options_.changed();
}

void ReplicaSet::end_leadership() {
  WritesStopped{*this};
  pump_->stop_leading();
  answer_all_reads(false);
  // A write that was committed here and has no place in the log is nobody else's; one that has a place may still be
  // majority-committed.
  bool wrote = false;
  {
    std::lock_guard lock(mutex_);
    wrote = machine_.stop_writing();
  }
  if (wrote && pump_->left_over()) return roll_back("some of this member's last writes had not reached the log");
  {
    const Stamp newest = oplog_.newest().optime.ts;
    std::scoped_lock lock(mutex_, apply_mutex_);
    uncommitted_upto_ = newest;
    if (!starting_over_ && !machine_.unsure()) apply_held_ = false;
  }
  to_apply_woken_.notify_one();
}

void ReplicaSet::roll_back(const std::string& why) {
  Stamp kept = 0;
  {
    std::lock_guard lock(apply_mutex_);
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

// One change at a time: who joins gets the log first and votes when it has caught up.
void ReplicaSet::align_members() {
  std::shared_ptr<const SetConfig> config;
  MemberId self = 0;
  {
    std::lock_guard lock(mutex_);
    config = config_;
    if (self_ < config->members.size()) self = consensus_id(config->members[self_]);
  }
  const consensus::CoreStatus status = node_->status();
  const consensus::Membership members = node_->members();
  if (!status.may_read || status.members_changing || !members.voters_outgoing.empty() || !others_may_join(members)) return;
  const std::vector<PeerProgress> progress = node_->progress();
  const auto propose = [&](MemberChange::Kind kind, MemberId id, const char* what) {
    if (!node_->propose_members({{kind, id}})) return;
    base::log(Severity::info, LogComponent::repl, 7100034, "The membership of consensus changes",
              Attributes().add("member", static_cast<int64_t>(id)).add("change", what));
  };
  for (const MemberConfig& member : config->members) {
    const MemberId id = consensus_id(member);
    const bool voter = contains(members.voters, id), learner = contains(members.learners, id);
    if (!voter && !learner) return propose(MemberChange::Kind::add_learner, id, "joins");
    if (voter && member.votes == 0) return propose(MemberChange::Kind::add_learner, id, "votes no more");
    if (!learner || member.votes == 0) continue;
    const PeerProgress* reached = progress_of(progress, id);
    if (reached && reached->recently_active && !reached->behind && reached->matched + joins_within >= status.last &&
        reached->matched > 0) {
      return propose(MemberChange::Kind::add_voter, id, "votes");
    }
  }
  for (const auto* ids : {&members.learners, &members.voters}) {
    for (const MemberId id : *ids) {
      if (!member_of(*config, id) && id != self) return propose(MemberChange::Kind::remove, id, "leaves");
    }
  }
}

// A membership that no entry brought (go_on_alone) is this member's alone: others who have the entries before it would go on with
// the one that they know. Once the log begins behind it, whoever joins copies, and has it with the copy.
bool ReplicaSet::others_may_join(const consensus::Membership& members) {
  if (members.index <= node_->log_meta().compacted.index) return true;
  std::vector<consensus::EntryPtr> brought_by;
  if (node_->entries(members.index, members.index + 1, 1, brought_by) != consensus::Lookup::found) return false;
  if (brought_by.front()->kind != consensus::EntryKind::data) return true;
  store_.engine().checkpoint();
  shorten_log();
  return false;
}

// When two members have the whole log, the one with the higher priority leads.
void ReplicaSet::hand_over_to_better() {
  double own = 0;
  {
    std::lock_guard lock(mutex_);
    if (self_ >= config_->members.size()) return;
    own = config_->members[self_].priority;
  }
  std::set<MemberId> refused;
  if (!best_caught_up(own, refused, joins_within)) return;
  base::log(Severity::info, LogComponent::repl, 7100035, "A member with a higher priority has caught up and takes over");
  hand_over(now_us() + 5 * second_us, own, refused);
}

// The electable voters in reach that lack at most `within` of the log, the highest priority first.
std::vector<ReplicaSet::Heir> ReplicaSet::caught_up(Index within) const {
  std::lock_guard lock(mutex_);
  const consensus::CoreStatus status = node_->status();
  const consensus::Membership members = node_->members();
  const std::vector<PeerProgress> progress = node_->progress();
  std::vector<Heir> found;
  for (size_t i = 0; i < config_->members.size(); ++i) {
    const MemberConfig& member = config_->members[i];
    const MemberId id = consensus_id(member);
    if (i == self_ || !member.electable() || !contains(members.voters, id)) continue;
    const PeerProgress* reached = progress_of(progress, id);
    if (reached && reached->recently_active && reached->matched + within >= status.last) found.push_back({id, member.priority});
  }
  std::stable_sort(found.begin(), found.end(), [](const Heir& a, const Heir& b) { return a.priority > b.priority; });
  return found;
}

// The first of them with a priority above `above` that says it would lead: who is frozen isn't asked to, and no write waits for
// it.
std::optional<MemberId> ReplicaSet::best_caught_up(double above, const std::set<MemberId>& but, Index within) const {
  for (const Heir& heir : caught_up(within)) {
    if (heir.priority > above && !but.contains(heir.id) && node_->stands(heir.id)) return heir.id;
  }
  return std::nullopt;
}

// Writes stop, and whoever has the rest of the log first takes over. False: nobody did in time, and this member leads on; one
// that was asked in vain is among the refused.
bool ReplicaSet::hand_over(int64_t deadline_us, double above, std::set<MemberId>& refused) {
  const WritesStopped none_writes(*this);
  if (state() != MemberState::primary) return true;
  if (!pump_->drain(std::chrono::microseconds(std::max<int64_t>(0, deadline_us - now_us()))))
    return state() != MemberState::primary;
  std::optional<MemberId> target;
  while (!(target = best_caught_up(above, refused, 0))) {
    if (state() != MemberState::primary) return true;
    if (now_us() > deadline_us || !best_caught_up(above, refused, joins_within)) return false;
    std::this_thread::sleep_for(counting_round);
  }
  node_->transfer(*target);
  std::unique_lock lock(mutex_);
  if (woken_.wait_for(lock, take_over_wait, [this] { return state_ != MemberState::primary || stopping_; })) return true;
  refused.insert(*target);
  return false;
}

void ReplicaSet::step_down(const StepDown& how) {
  if (state() != MemberState::primary) throw OperationError(ErrorCode::not_writable_primary, "not primary so can't step down");
  const int64_t deadline = now_us() + std::max(how.catch_up_ms * 1000, answers_within_us);
  bool done = false;
  std::set<MemberId> refused;  // held up, say
  for (;;) {
    if (best_caught_up(-1, refused, joins_within)) {
      done = hand_over(std::max(deadline, now_us() + second_us), -1, refused);
    } else {
      refused.clear();
    }
    if (done || now_us() >= deadline || state() != MemberState::primary) break;
    std::this_thread::sleep_for(counting_round);
  }
  if (!done && state() == MemberState::primary) return resign(how);
  {
    std::lock_guard lock(mutex_);
    machine_.step_down_until(now_us() + how.period_ms * 1000);
  }
  woken_.notify_all();
}

// The primary gives up without a successor. Members that have the log may be frozen: then there is no primary until one of them
// isn't any more.
void ReplicaSet::resign(const StepDown& how) {
  const auto refuse_without = [&](Index within) {
    if (how.force || !caught_up(within).empty()) return;
    throw OperationError(
        ErrorCode::exceeded_time_limit,
        "No electable secondaries caught up as of " + base::iso_date(clock_.wall_ms()) +
            ". Please use the replSetStepDown command with the argument {force: true} to force node to step down.");
  };
  refuse_without(joins_within);
  const WritesStopped none_writes(*this);
  const int64_t deadline_us = now_us() + resign_wait_us;
  pump_->drain(std::chrono::microseconds(resign_wait_us));
  while (!how.force && caught_up(0).empty() && now_us() < deadline_us) std::this_thread::sleep_for(counting_round);
  refuse_without(0);
  std::unique_lock lock(mutex_);
  machine_.resign_until(now_us() + how.period_ms * 1000);
  tell_electable();
  node_->resign();
  woken_.wait_for(lock, take_over_wait, [this] { return state_ != MemberState::primary || stopping_; });
}

// How far everyone is, for those who wait for a number of members.
void ReplicaSet::count_members() {
  const std::vector<PeerProgress> progress = node_->progress();
  std::unique_lock lock(mutex_);
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
    const auto behind = std::upper_bound(places_.begin(), places_.end(), shown,
                                         [](Index index, const Place& place) { return index < place.index; });
    const Stamp upto = behind == places_.begin() ? 0 : std::prev(behind)->last.optime.ts;
    members.push_back({&member, upto, i == self_ ? oplog_.newest().optime.ts : upto});
  }
  lock.unlock();
  acks_.reached(*config, members);
}

// A reader that waits for a time at which nothing was written, on any member, waits for the log to pass it.
void ReplicaSet::advance_time(int64_t now) {
  const Stamp newest = oplog_.newest().optime.ts;
  const bool quiet = newest == advance_seen_;
  if (!quiet) advance_seen_ = newest, advance_seen_us_ = now;
  const bool behind = quiet && std::max(store_.engine().last_stamp(), known_time()) > newest;
  if (!behind && now - advance_seen_us_ < noop_every_us) return;
  bson::Builder message;
  message.append("msg", "periodic noop");
  write_noop(known_time(), message.done());
}

void ReplicaSet::renew_committed() {
  Stamp committed = 0;
  {
    std::lock_guard lock(apply_mutex_);
    committed = committed_.optime.ts;
  }
  store_.engine().set_majority_committed(committed);
}

// The places that everybody in reach is past are forgotten, but the newest of them.
void ReplicaSet::forget_places() {
  Index past = node_->status().applied;
  for (const PeerProgress& one : node_->progress()) {
    if (one.recently_active && !consensus::is_arbiter(one.id)) past = std::min(past, one.matched);
  }
  std::lock_guard lock(mutex_);
  while (places_.size() > 1 && (places_[1].index <= past || places_.size() > places_max)) places_.pop_front();
}

void ReplicaSet::ask_reads_again() {
  std::vector<std::string> contexts;
  {
    std::lock_guard lock(apply_mutex_);
    for (const auto& [context, done] : asked_) contexts.push_back(context);
  }
  for (const std::string& context : contexts) node_->read_index(context);
}

void ReplicaSet::answer_all_reads(bool leads) {
  std::map<std::string, Asked> asked;
  {
    std::lock_guard lock(apply_mutex_);
    asked.swap(asked_);
  }
  for (auto& [context, done] : asked) done(leads);
}

// Entries that a checkpoint has aren't replayed again; members that lag are waited for within bounds.
void ReplicaSet::shorten_log() {
  const Stamp held = store_.engine().checkpointed_stamp();
  const consensus::LogMeta meta = node_->log_meta();
  const consensus::CoreStatus status = node_->status();
  Index upto = newest_index_with(held, meta.compacted.index, status.applied, [this](Index at) {
    std::vector<consensus::EntryPtr> found;
    if (node_->entries(at, at + 1, 1, found) != consensus::Lookup::found)
      throw OperationError(ErrorCode::internal_error, "an entry of the log is gone");
    return found.front();
  });
  if (store_.engine().file_bytes(consensus::log_table) < log_bytes_kept) {
    for (const PeerProgress& one : node_->progress()) upto = std::min(upto, one.matched);
    if (status.standing.role != Role::leader) return;
  }
  upto = std::min(upto, status.applied);
  if (upto > meta.compacted.index) node_->compact(upto);
}

// An arbiter has nothing to copy: its log begins where the others' does.
void ReplicaSet::begin_log_anew(const consensus::Behind& behind) {
  stop_voting();  // nobody else writes the log from here on
  start_log(disk_, behind.log_begins, behind.members);
  start_over("this arbiter's log was too old");
}

void ReplicaSet::copy_anew() {
  {
    std::lock_guard lock(mutex_);
    machine_.await_data(now_us());
    show_state();
  }
  options_.copy([this] { return copy_source(); }, [this] { return stop_voting(); });
  start_over("another member's data was copied");
}

std::optional<std::string> ReplicaSet::copy_source() {
  std::lock_guard lock(mutex_);
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
