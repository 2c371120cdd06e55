#include "replication/replica_set.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>

#include "base/clock.h"
#include "base/log.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "replication/member_ids.h"
#include "replication/repair_mark.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"

namespace replication {

using base::Attributes;
using base::ErrorCode;
using base::LogComponent;
using base::OperationError;
using base::Severity;
using consensus::Role;

namespace {

constexpr auto initiate_wait = std::chrono::seconds(10);
constexpr auto config_wait = std::chrono::seconds(10);
constexpr int64_t read_stands_wait_ms = 1000;
constexpr consensus::Term terms_skipped = 10'000;  // by who goes on alone, as versions are
constexpr consensus::Position log_begins{1, 0};    // behind nothing at all: whoever joins needs a copy first

[[noreturn]] void not_primary(const char* message = "not primary") {
  throw OperationError(ErrorCode::not_writable_primary, message);
}

// MongoDB makes them so that drivers see the later one as the greater: 7fffffff, then the term.
bson::ObjectId election_id(int64_t term) {
  bson::ObjectId id;
  id.bytes = {0x7f, 0xff, 0xff, 0xff};
  for (int i = 0; i < 8; ++i) id.bytes[4 + i] = static_cast<uint8_t>(static_cast<uint64_t>(term) >> (56 - 8 * i));
  return id;
}

std::string shown(const SetConfig& config) {
  return "{version: " + std::to_string(config.version) + ", term: " + std::to_string(config.term) + "} for replica set " +
         config.name;
}

}  // namespace

std::string_view state_name(MemberState state) {
  switch (state) {
    case MemberState::startup: return "STARTUP";
    case MemberState::primary: return "PRIMARY";
    case MemberState::secondary: return "SECONDARY";
    case MemberState::recovering: return "RECOVERING";
    case MemberState::startup2: return "STARTUP2";
    case MemberState::arbiter: return "ARBITER";
    case MemberState::down: return "DOWN";
    case MemberState::rollback: return "ROLLBACK";
    case MemberState::removed: return "REMOVED";
    case MemberState::unknown: break;
  }
  return "UNKNOWN";
}

ReplicaSet::ReplicaSet(storage::Store& store, Oplog& oplog, Applier& applier, base::Clock& clock, ReplicaSetOptions options)
    : store_(store),
      oplog_(oplog),
      applier_(applier),
      clock_(clock),
      options_(std::move(options)),
      own_config_(store, set_config_ns),
      disk_(store),
      machine_(clock.monotonic_us()) {
  if (const auto document = own_config_.read()) adopt_found(*document);
}

ReplicaSet::~ReplicaSet() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  if (duty_thread_.joinable()) duty_thread_.join();
  store_.engine().on_transaction_over(nullptr);
  if (transport_) transport_->set_receiver(nullptr);
  if (pump_) pump_->stop_leading();
  if (node_) node_->stop();
  {
    const base::MutexLock lock(apply_mutex_);
    apply_stopping_ = true;
  }
  to_apply_woken_.notify_all();
  if (apply_thread_.joinable()) apply_thread_.join();
  pump_.reset();
  node_.reset();
}

void ReplicaSet::start() {
  {
    const base::MutexLock lock(mutex_);
    if (!config_) adopt_from_log();
    if (config_ && was_repaired(store_)) distrust_repair();
    if (config_ && disk_.load()) {
      machine_.begin(now_us());
      show_state();
      if (self_ < config_->members.size()) begin_node();
    }
  }
  duty_thread_ = std::thread([this] { duty_loop(); });
}

// A configuration that the data directory has may be that of another set.
void ReplicaSet::adopt_found(bson::DocumentView document) {
  SetConfig config = parse_set_config(document);
  if (config.name != options_.set_name) {
    throw OperationError(ErrorCode::invalid_replica_set_config, "Local replica set configuration document reports set name of " +
                                                                    config.name + ", but command line reports " +
                                                                    options_.set_name);
  }
  adopt(std::move(config));
}

// A process lost before the first checkpoint that has the configuration finds it in the log alone.
void ReplicaSet::adopt_from_log() {
  const auto image = disk_.load();
  if (!image) return;
  for (consensus::Index at = image->last; at > image->meta.compacted.index; --at) {
    const consensus::EntryPtr entry = disk_.read(at, at + 1, 1).front();
    if (entry->kind != consensus::EntryKind::data || entry->data.empty()) continue;
    const LogRecord record = decode_record(entry->data).or_throw();
    for (const LogRecord::Item& item : record.entries) {
      const auto config = item.entry.op == 'n' ? item.entry.o.find("config") : bson::Element();
      if (config.is_object()) return adopt_found(config.as_document());
    }
  }
}

void ReplicaSet::show_state() {
  const MemberState state = machine_.state();
  if (state_ == state) return;
  base::log(Severity::info, LogComponent::repl, 21358, "Replica set state transition",
            Attributes().add("newState", state_name(state)).add("oldState", state_name(state_)));
  state_.store(state, std::memory_order_release);
  options_.changed();
}

// Uses the configuration in memory. The caller has written it before, since this may end the process.
void ReplicaSet::adopt(SetConfig config) {
  self_ = find_self(config);
  config_ = std::make_shared<const SetConfig>(std::move(config));
  base::log(Severity::info, LogComponent::repl, 21392, "New replica set config in use",
            Attributes().json("config", bson::to_json(config_->document())));
  const bool in = self_ < config_->members.size();
  const MemberPart part =
      in ? MemberPart{true, config_->members[self_].arbiter, config_->members[self_].electable()} : MemberPart{};
  machine_.configure(part, node_ != nullptr, now_us());
  if (node_) {
    connect_peers();
    show_state();
    tell_electable();
    // Consensus knows this member under an _id that is gone. An arbiter's log has no contents: whoever is one no more copies.
    const bool another = in && consensus_id(config_->members[self_]) != node_id_;
    if (another && (config_->members[self_].arbiter || !consensus::is_arbiter(node_id_)))
      start_over("it is in the set under another _id");
  }
  options_.changed();
}

// A member that was removed never stands for election.
void ReplicaSet::tell_electable() {
  const MemberConfig* self = self_ < config_->members.size() ? &config_->members[self_] : nullptr;
  node_->set_candidacy(machine_.candidacy(self ? election_rank(*config_, *self) : 0));
}

Standing ReplicaSet::standing() const {
  const base::MutexLock lock(mutex_);
  Standing standing;
  standing.state = state_;
  standing.stepping_down = stepping_down_ > 0 && standing.state == MemberState::primary;
  if (!config_) return standing;
  standing.term = term_;
  standing.config = config_;
  if (self_ < config_->members.size()) standing.self = &config_->members[self_];
  standing.since_us = machine_.since_us();
  if (machine_.lacks_room())
    standing.waits_for_room = "waiting for disk space to apply the log";
  else if (node_ && node_->waits_for_room())
    standing.waits_for_room = "waiting for disk space to write the log";
  standing.config_written = config_written_;
  if (standing.state == MemberState::primary) {
    standing.primary = standing.self;
  } else if (machine_.standing().leader != 0 && machine_.standing().role == Role::follower) {
    const MemberConfig* const leader = member_of(*config_, machine_.standing().leader);
    if (leader && leader->electable()) standing.primary = leader;  // else it is a caretaker
  }
  standing.election_id = election_id(term_);
  standing.elected_ms = elected_ms_;
  return standing;
}

Progress ReplicaSet::progress() const {
  const Oplog::Position newest = oplog_.newest();
  const Progress::Place applied{newest.optime, newest.wall_ms};
  const base::MutexLock lock(apply_mutex_);
  // Majority-committed entries are on this member's disk as well; nothing is claimed of a primary's newest entries until then.
  return {applied, committed_, committed_};
}

bool ReplicaSet::knows(const std::string& host) const {
  const base::MutexLock lock(mutex_);
  const MemberConfig* const member = config_ ? config_->member(host) : nullptr;
  if (!member || !node_) return false;
  const consensus::Membership members = node_->members();
  return is_voter(members, consensus_id(*member)) || is_learner(members, consensus_id(*member));
}

LogEnd ReplicaSet::log_end() const {
  consensus::RaftNode* node = nullptr;
  {
    const base::MutexLock lock(mutex_);
    node = node_.get();
  }
  if (!node) return {};
  const consensus::Index last = node->status().last;
  std::vector<consensus::EntryPtr> newest;
  consensus::Position end = node->log_meta().compacted;
  if (last > end.index && node->entries(last, last + 1, 1, newest) == consensus::Lookup::found)
    end = {last, newest.front()->term};
  return {static_cast<int64_t>(end.term), static_cast<int64_t>(end.index)};
}

int64_t ReplicaSet::write_term() const {
  if (state() != MemberState::primary) not_primary();
  return term_;
}

std::shared_lock<std::shared_mutex> ReplicaSet::hold_primary() {
  if (writes_held_) {
    base::MutexLock held(mutex_);
    woken_.wait(held, [this]() REQUIRES(mutex_) { return !writes_held_ || state_ != MemberState::primary; });
  }
  std::shared_lock lock(primary_mutex_);
  if (state() != MemberState::primary) not_primary();
  return lock;
}

SetConfig ReplicaSet::default_config() const {
  SetConfig config;
  config.name = options_.set_name;
  config.members.emplace_back();
  config.members.front().host = options_.default_host;
  return config;
}

// The index lies beyond the members where this one isn't among them.
size_t ReplicaSet::find_self(const SetConfig& config) const {
  size_t self = 0;
  while (self < config.members.size() && !options_.is_self(config.members[self].host)) ++self;
  return self;
}

void ReplicaSet::check_self(const SetConfig& config) const {
  const MemberConfig* self = nullptr;
  for (const MemberConfig& member : config.members) {
    if (!options_.is_self(member.host)) continue;
    if (self) {
      throw OperationError(
          ErrorCode::invalid_replica_set_config,
          "The hosts " + self->host + " and " + member.host + " all map to this node in new configuration with " + shown(config));
    }
    self = &member;
  }
  if (!self) {
    throw OperationError(ErrorCode::invalid_replica_set_config,
                         "No host described in new configuration with " + shown(config) + " maps to this node");
  }
  if (!self->electable()) {
    throw OperationError(ErrorCode::node_not_electable, "This node, " + self->host + ", with _id " + std::to_string(self->id) +
                                                            " is not electable under the new configuration with " +
                                                            shown(config));
  }
}

storage::Stamp ReplicaSet::append_message(storage::Transaction& transaction, bson::DocumentView message) {
  Entry entry;
  entry.wall_ms = clock_.wall_ms();
  entry.term = term_;
  entry.o = message;
  const storage::Stamp stamp = transaction.next_stamp();
  oplog_.append(transaction, stamp, entry);
  return stamp;
}

// Writes the configuration and the entry that gives it to the others, in one transaction.
storage::Stamp ReplicaSet::write_config(const SetConfig& config, std::string_view why) {
  const bson::Document document = config.document();
  bson::Builder o;
  o.append("msg", why).append("config", document);
  const bson::Document entry_document = o.done();
  const auto collection = store_.catalog().open_or_create(set_config_ns);
  const std::shared_lock schema(collection->schema_mutex());
  return storage::in_transaction(store_, [&](storage::Transaction& transaction) {
    own_config_.put(transaction, *collection, document);
    return append_message(transaction, entry_document);
  });
}

void ReplicaSet::initiate(const SetConfig& given) {
  {
    const base::MutexLock lock(mutex_);
    if (config_) throw OperationError(ErrorCode::already_initialized, "already initialized");
  }
  if (given.name != options_.set_name) {
    throw OperationError(ErrorCode::invalid_replica_set_config, "Attempting to initiate a replica set with name " + given.name +
                                                                    ", but command line reports " + options_.set_name +
                                                                    "; rejecting");
  }
  if (given.version != 1) {
    throw OperationError(
        ErrorCode::new_config_incompatible,
        "Configuration used to initiate a replica set must have version 1, but found " + std::to_string(given.version));
  }
  if (given.set_id != bson::ObjectId()) {
    throw OperationError(ErrorCode::invalid_replica_set_config,
                         "replica set configuration cannot contain 'replicaSetId' field when called from replSetInitiate: " +
                             given.set_id.to_hex());
  }
  check_self(given);
  if (given.members.size() > 1) options_.check_others(given, true);
  SetConfig config = given;
  config.set_id = bson::ObjectId::generate();
  config.term = 0;
  base::log(Severity::info, LogComponent::repl, 21356, "replSetInitiate admin command received",
            Attributes().json("config", bson::to_json(config.document())));
  base::MutexLock lock(mutex_);
  if (config_) throw OperationError(ErrorCode::already_initialized, "already initialized");
  adopt(std::move(config));
  consensus::Membership alone;
  alone.index = log_begins.index;
  alone.voters = {consensus_id(config_->members[self_])};
  start_log(disk_, log_begins, alone);
  machine_.begin(now_us());
  show_state();
  begin_node();
  node_->campaign();
  const bool elected =
      woken_.wait_for(lock, initiate_wait, [this]() REQUIRES(mutex_) { return stopping_ || state_ == MemberState::primary; });
  if (!elected || stopping_)
    throw OperationError(ErrorCode::exceeded_time_limit, "the set was initiated, but this member has not become primary yet");
  const OpTime written{config_written_, term_};
  lock.unlock();
  await_config(written);
}

// Until then a process that is lost takes the configuration with it.
void ReplicaSet::await_config(OpTime written) {
  using Failure = std::optional<WriteConcernFailure>;
  WriteConcern majority;
  majority.mode = "majority";
  majority.timeout_ms = std::chrono::milliseconds(config_wait).count();
  const auto answer = std::make_shared<std::promise<Failure>>();
  std::future<Failure> answered = answer->get_future();
  when_acknowledged(written, majority, [answer](Failure failure) { answer->set_value(std::move(failure)); });
  // A member that is being stopped answers nobody any more.
  Failure failure = WriteConcernFailure{ErrorCode::write_concern_failed, "waiting for replication timed out"};
  if (answered.wait_for(config_wait + std::chrono::seconds(1)) == std::future_status::ready) failure = answered.get();
  if (!failure) return;
  throw OperationError(failure->code,
                       "this member uses the configuration, but it is not known to be majority-committed: " + failure->message);
}

void ReplicaSet::reconfigure(SetConfig next, bool force) {
  std::shared_ptr<const SetConfig> now;
  {
    const base::MutexLock lock(mutex_);
    now = config_;
  }
  if (!now) throw OperationError(ErrorCode::not_yet_initialized, "Node not yet initialized; use the replSetInitiate command");
  const bool leads = state() == MemberState::primary;
  if (!leads && !force)
    not_primary("New config is only accepted by the primary. Use the \"force\" argument to force this node to accept it");
  // Skips versions, so that a forced one is newer than what others may have decided meanwhile.
  if (force) next.version = std::max(next.version, now->version + 1) + 10'000;
  check_reconfig(*now, next, force);
  check_self(next);
  next.set_id = now->set_id;
  if (!leads) {
    next.term = -1;
    return go_on_alone(now, next);
  }
  if (next.members.size() > 1 && !force) options_.check_others(next, false);
  OpTime written;
  {
    const auto primary = hold_primary();
    const base::MutexLock lock(mutex_);
    if (config_ != now) {
      throw OperationError(ErrorCode::new_config_incompatible,
                           "the configuration was changed by another replSetReconfig at the same time");
    }
    next.term = term_;
    written = {config_written_ = write_config(next, "Reconfig set"), term_};
    adopt(std::move(next));
    woken_.notify_all();
  }
  // A forced one is for a set that may have no majority.
  if (!force) await_config(written);
}

// When a majority is gone for good, nothing can be committed any more, and consensus has no way out. This member makes itself the
// only voter, by a membership that no entry brings, in a term beyond those the others may have come to. Its log stays, and is
// committed once it leads; the others of the configuration copy its data (membership_alignment.h).
void ReplicaSet::go_on_alone(const std::shared_ptr<const SetConfig>& now, const SetConfig& next) {
  options_.check_alone(next, log_end());
  {
    const base::TwoMutexLock lock(mutex_, apply_mutex_);
    if (config_ != now)
      throw OperationError(ErrorCode::new_config_incompatible, "the configuration was changed at the same time");
    const bool whole = node_ && !consensus::is_arbiter(node_id_) && !machine_.copy_wanted() && !apply_held_;
    if (!whole || (machine_.about_to_lead() && !machine_.is_caretaker()) || forced_ || starting_over_ || stopping_) {
      throw OperationError(
          ErrorCode::illegal_operation,
          "this member can't go on alone: it is about to lead, copies data, starts anew, or has no log of the set");
    }
    forced_ = true;
  }
  base::log(Severity::warning, LogComponent::repl, 7100037, "A forced configuration: this member goes on without a majority",
            Attributes().json("config", bson::to_json(next.document())));
  const std::string why = "a configuration was forced";
  try {
    stop_voting();
    const consensus::LogImage image = disk_.load().value();
    consensus::LogBatch batch;
    batch.meta = image.meta;
    batch.meta.hard.term += terms_skipped;
    batch.meta.hard.vote = 0;
    batch.meta.members = {};
    batch.meta.members.index = image.last + 1;  // what the log has up to there changes it no more
    batch.meta.members.voters = {consensus_id(next.members[find_self(next)])};
    disk_.write({batch});
    own_config_.write(next.document());
  } catch (...) {
    start_over(why);
    throw;
  }
  start_over(why);
}

void ReplicaSet::learn_config(const SetConfig& config, const std::string& from) {
  const base::MutexLock lock(mutex_);
  if (config.name != options_.set_name || stopping_ || starting_over_ || state_ == MemberState::primary) return;
  if (config_ && !config.place().newer_than(config_->place())) return;
  const size_t at = find_self(config);
  const MemberConfig* self = at < config.members.size() ? &config.members[at] : nullptr;
  if (!self && !config_) return;
  // A member that has the log learns its configurations from there, up to the one that it isn't sent any more.
  const bool reached_by_log =
      self && node_id_ == consensus_id(*self) && state_ != MemberState::removed && state_ != MemberState::arbiter;
  if (reached_by_log) return;
  const bool joins = !node_;
  const bool copies = self && !self->arbiter && (joins || consensus::is_arbiter(node_id_));
  base::log(Severity::info, LogComponent::repl, 7100036, "Another member told of the configuration",
            Attributes().add("member", from));
  if (!copies) own_config_.write(config.document());  // a copy brings its own
  adopt(config);
  if (copies) {
    machine_.await_data(now_us());
    machine_.want_copy();
    show_state();
    woken_.notify_all();
  } else if (joins && self) {
    // The log gets an entry that nobody has, so that the leader sends the place where its own log begins, and who votes at that
    // place. An empty log would seem to have what comes before the first entry.
    const bool begins = !disk_.load();
    if (begins) start_log(disk_, {log_begins.index, log_begins.term + 1}, {});
    begins ? machine_.await_data(now_us()) : machine_.begin(now_us());
    show_state();
    begin_node();
  }
}

void ReplicaSet::freeze(int64_t ms) {
  {
    const base::MutexLock lock(mutex_);
    if (!config_) throw OperationError(ErrorCode::not_yet_initialized, "no replset config has been received");
    if (state() == MemberState::primary) {
      throw OperationError(ErrorCode::not_secondary, "cannot freeze node when primary or running for election. state: Primary");
    }
    // A leader that steps down right after this must not find the member still ready to lead.
    machine_.freeze(ms * 1000, now_us());
    if (node_) renew_electable();
  }
  woken_.notify_all();
}

void ReplicaSet::maintain(bool on) {
  const base::MutexLock lock(mutex_);
  if (!config_ || !node_) throw OperationError(ErrorCode::not_yet_initialized, "no replset config has been received");
  const MemberState now = state_;
  if (now == MemberState::primary) throw OperationError(ErrorCode::not_secondary, "primaries can't modify maintenance mode");
  if (now != MemberState::secondary && now != MemberState::recovering) {
    throw OperationError(ErrorCode::operation_failed, "can't modify maintenance mode in state " + std::string(state_name(now)));
  }
  const int others = machine_.maintenance() - (on ? 0 : 1);
  if (!machine_.maintain(on, now_us())) throw OperationError(ErrorCode::operation_failed, "already out of maintenance mode");
  base::log(Severity::info, LogComponent::repl, on ? 21334 : 21335,
            on ? "Going into maintenance mode" : "Leaving maintenance mode",
            Attributes().add("otherMaintenanceModeTasksInProgress", others));
  tell_electable();
  show_state();
}

std::optional<WriteConcernFailure> ReplicaSet::unsatisfiable(const WriteConcern& concern) const {
  std::shared_ptr<const SetConfig> config;
  {
    const base::MutexLock lock(mutex_);
    config = config_;
  }
  if (!config) return WriteConcernFailure{ErrorCode::not_yet_initialized, "Replica set not yet initialized"};
  return never_satisfied(*config, concern);
}

void ReplicaSet::when_acknowledged(OpTime optime, const WriteConcern& concern,
                                   std::function<void(std::optional<WriteConcernFailure>)> done) {
  if (auto why = unsatisfiable(concern)) return done(std::move(why));
  const bool by_count = concern.mode.empty() && concern.tags.empty();
  if (by_count && concern.members <= 1 && !concern.journal) return done(std::nullopt);
  acks_.wait(optime, concern, now_us(), std::move(done));
  // A client that asks after the end of leadership would wait for ever.
  if (state() != MemberState::primary) return give_up_acks(ack_grace_us);
  if (!concern.majority()) woken_.notify_all();
}

void ReplicaSet::give_up_acks(int64_t grace_us) {
  acks_.give_up_at(now_us() + grace_us, {ErrorCode::primary_stepped_down, "Primary stepped down while waiting for replication"});
}

storage::Stamp ReplicaSet::write_noop(storage::Stamp at_least, bson::DocumentView message) {
  const auto lock = hold_primary();
  store_.engine().raise_stamp(at_least);
  return storage::in_transaction(store_, [&](storage::Transaction& transaction) { return append_message(transaction, message); });
}

void ReplicaSet::when_committed_past(storage::Stamp stamp, std::function<void()> done) {
  WriteConcern majority;
  majority.mode = "majority";
  acks_.wait({stamp + 1, 0}, majority, now_us(), [done = std::move(done)](const auto&) { done(); });
}

void ReplicaSet::when_read_stands(OpTime read_at, std::function<void(std::optional<WriteConcernFailure>)> done) {
  if (state() != MemberState::primary) {
    bool all_committed = false;
    {
      const base::MutexLock lock(apply_mutex_);
      all_committed = !apply_held_ && committed_.optime.ts >= uncommitted_upto_;
    }
    if (all_committed) return done(std::nullopt);  // it has nothing but what is majority-committed
    WriteConcern majority;
    majority.mode = "majority";
    majority.timeout_ms = read_stands_wait_ms;
    return acks_.wait(read_at, majority, now_us(), [done = std::move(done)](std::optional<WriteConcernFailure> failure) {
      if (failure)
        failure = {ErrorCode::read_concern_majority_not_available_yet, "Read concern majority reads are currently not possible."};
      done(std::move(failure));
    });
  }
  const auto then = [this, read_at, done = std::move(done)](bool leads) {
    if (!leads) return done(WriteConcernFailure{ErrorCode::primary_stepped_down, "Primary stepped down while confirming a read"});
    WriteConcern majority;
    majority.mode = "majority";
    when_acknowledged(read_at, majority, done);
  };
  std::string context;
  {
    const base::MutexLock lock(apply_mutex_);
    context = std::to_string(++asked_last_);
    asked_.emplace(context, then);
  }
  node_->read_index(context);  // refused or lost: asked again with the next round of duties
}

void ReplicaSet::adopt_connection(int descriptor, std::unique_ptr<base::tls::Stream> tls, base::Bytes already_read) {
  base::MutexLock lock(mutex_);
  if (transport_ && !stopping_) return transport_->adopt(descriptor, std::move(tls), std::move(already_read));
  lock.unlock();
  ::close(descriptor);
}

}  // namespace replication
