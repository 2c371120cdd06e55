#include "replication/single_member.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/log.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "replication/error_codes.h"
#include "replication/local_document.h"
#include "storage/transaction.h"

namespace replication {

using base::Attributes;
using base::ErrorCode;
using base::LogComponent;
using base::OperationError;
using base::Severity;

namespace {

constexpr char config_ns[] = "local.system.replset";
constexpr char election_ns[] = "local.replset.election";
constexpr auto tick = std::chrono::seconds(1);

int64_t now_us() { return base::system_clock().monotonic_us(); }

[[noreturn]] void not_primary(const char* message = "not primary") { throw OperationError(ErrorCode::not_writable_primary, message); }

// As MongoDB makes them, so that drivers see the later one as the greater: 7fffffff, then the term.
bson::ObjectId election_id(int64_t term) {
  bson::ObjectId id;
  id.bytes = {0x7f, 0xff, 0xff, 0xff};
  for (int i = 0; i < 8; ++i) id.bytes[4 + i] = static_cast<uint8_t>(static_cast<uint64_t>(term) >> (56 - 8 * i));
  return id;
}

std::string shown(const SetConfig& config) {
  return "{version: " + std::to_string(config.version) + ", term: " + std::to_string(config.term) + "}";
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

int64_t stored_term(storage::Engine& engine) {
  const auto vote = read_local(engine, election_ns);
  return vote ? std::max<int64_t>(1, vote->find("term").to_int64()) : 1;
}

SingleMember::SingleMember(storage::Engine& engine, Oplog& oplog, SingleMemberOptions options)
    : engine_(engine), oplog_(oplog), options_(std::move(options)), since_us_(now_us()) {
  if (const auto vote = read_local(engine_, election_ns)) term_ = vote->find("term").to_int64();
  const auto document = read_local(engine_, config_ns);
  if (!document) return;
  SetConfig config = parse_set_config(*document);
  if (config.name != options_.set_name) {
    throw OperationError(error::invalid_replica_set_config, "Local replica set configuration document reports set name of " + config.name +
                                                                ", but command line reports " + options_.set_name);
  }
  check_members(config, "start");
  config_ = std::make_shared<const SetConfig>(std::move(config));
  state_ = MemberState::secondary;
  const Oplog::Position newest = oplog_.newest();  // what is read at the start is on disk
  durable_->place = {newest.optime, newest.wall_ms};
}

SingleMember::~SingleMember() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SingleMember::start() {
  {
    std::lock_guard lock(mutex_);
    if (config_) elect();
  }
  thread_ = std::thread([this] { run(); });
}

void SingleMember::run() {
  base::LogContext context("ReplCoord");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    auto wait = std::chrono::microseconds(tick);
    if (state_ == MemberState::secondary) wait = std::clamp(std::chrono::microseconds(electable_us_ - now_us()), std::chrono::microseconds(0), wait);
    if (wait.count() > 0) woken_.wait_for(lock, wait);
    if (stopping_) return;
    if (state_ == MemberState::secondary && now_us() >= electable_us_) {
      try {
        elect();
      } catch (const OperationError& error) {
        electable_us_ = now_us() + 1'000'000;
        base::log(Severity::error, LogComponent::repl, 9200410, "The election failed; trying again", Attributes().add("error", error.what()));
      }
    }
    note_durable();
  }
}

// The journal is behind what is in memory; asking costs nothing where it is not.
void SingleMember::note_durable() {
  const Oplog::Position newest = oplog_.newest();
  {
    const std::lock_guard lock(durable_->mutex);
    if (newest.optime.ts <= durable_->place.optime.ts) return;
  }
  engine_.when_durable([durable = durable_, newest] {
    const std::lock_guard lock(durable->mutex);
    if (newest.optime > durable->place.optime) durable->place = {newest.optime, newest.wall_ms};
  });
}

void SingleMember::append_noop(std::string_view why) {
  bson::Builder o;
  o.append("msg", why);
  const bson::Document document = o.done();
  storage::in_transaction(engine_, [&](storage::Transaction& transaction) {
    Entry entry;
    entry.op = 'n';
    entry.wall_ms = base::system_clock().wall_ms();
    entry.term = term_;
    entry.o = document;
    oplog_.append(transaction, transaction.next_stamp(), entry);
  });
}

// The vote is on disk before anything is written in its term.
void SingleMember::elect() {
  const int64_t term = std::max<int64_t>(term_, std::max<int64_t>(0, config_->term)) + 1;
  bson::Builder vote;
  vote.append("_id", bson::ObjectId::generate()).append("term", term).append("candidateIndex", int64_t{0});
  if (const auto before = read_local(engine_, election_ns)) {
    bson::Builder same;  // the _id of a document can't change
    same.append("_id", static_cast<bson::ValueView>(before->find("_id"))).append("term", term).append("candidateIndex", int64_t{0});
    write_local(engine_, election_ns, same.done());
  } else {
    write_local(engine_, election_ns, vote.done());
  }
  SetConfig config = *config_;
  config.term = term;
  term_ = term;
  adopt(std::move(config));
  append_noop("new primary");
  elected_ms_ = base::system_clock().wall_ms();
  since_us_ = now_us();
  state_.store(MemberState::primary, std::memory_order_release);
  options_.changed();
  base::log(Severity::info, LogComponent::repl, 21331, "Transition to primary complete; database writes are now permitted", Attributes().add("term", term));
}

void SingleMember::adopt(SetConfig config) {
  write_local(engine_, config_ns, config.document());
  config_ = std::make_shared<const SetConfig>(std::move(config));
}

Standing SingleMember::standing() const {
  std::lock_guard lock(mutex_);
  Standing standing;
  standing.state = state_;
  if (!config_) return standing;
  standing.term = term_;
  standing.config = config_;
  standing.self = &config_->members.front();
  standing.since_us = since_us_;
  if (standing.state == MemberState::primary) {
    standing.primary = standing.self;
    standing.election_id = election_id(term_);
    standing.elected_ms = elected_ms_;
  }
  return standing;
}

Progress SingleMember::progress() const {
  const Oplog::Position newest = oplog_.newest();
  const std::lock_guard lock(durable_->mutex);
  return {{newest.optime, newest.wall_ms}, durable_->place, durable_->place};
}

int64_t SingleMember::write_term() const {
  if (state() != MemberState::primary) not_primary();
  return term_;
}

std::shared_lock<std::shared_mutex> SingleMember::hold_primary() {
  std::shared_lock lock(primary_mutex_);
  if (state() != MemberState::primary) not_primary();
  return lock;
}

SetConfig SingleMember::default_config() const {
  SetConfig config;
  config.name = options_.set_name;
  config.members.emplace_back();
  config.members.front().host = options_.default_host;
  return config;
}

void SingleMember::check_members(const SetConfig& config, const char* doing) const {
  size_t here = 0;
  for (const MemberConfig& member : config.members) here += options_.is_self(member.host);
  const std::string which = shown(config) + " for replica set " + config.name;
  if (here == 0) {
    throw OperationError(error::invalid_replica_set_config, "No host described in new configuration with " + which + " maps to this node");
  }
  if (here > 1) {
    throw OperationError(error::invalid_replica_set_config, "The hosts of several members in configuration with " + which + " all map to this node");
  }
  if (config.members.size() > 1) {
    std::string others;
    for (const MemberConfig& member : config.members) {
      if (options_.is_self(member.host)) continue;
      others += (others.empty() ? "" : ", ") + member.host + " failed with replica sets of more than one member are not supported yet";
    }
    throw OperationError(ErrorCode::node_not_found, std::string(doing) + " quorum check failed because not all proposed set members responded affirmatively: " + others);
  }
  const MemberConfig& self = config.members.front();
  if (!self.electable()) {
    throw OperationError(error::node_not_electable, "This node, " + self.host + ", with _id " + std::to_string(self.id) +
                                                        " is not electable under the new configuration with " + which);
  }
}

void SingleMember::initiate(const SetConfig& given) {
  std::lock_guard lock(mutex_);
  if (config_) throw OperationError(ErrorCode::already_initialized, "already initialized");
  if (given.name != options_.set_name) {
    throw OperationError(error::invalid_replica_set_config, "Attempting to initiate a replica set with name " + given.name +
                                                                ", but command line reports " + options_.set_name + "; rejecting");
  }
  if (given.version != 1) {
    throw OperationError(error::new_config_incompatible,
                         "Configuration used to initiate a replica set must have version 1, but found " + std::to_string(given.version));
  }
  if (given.set_id != bson::ObjectId()) {
    throw OperationError(error::invalid_replica_set_config,
                         "replica set configuration cannot contain 'replicaSetId' field when called from replSetInitiate: " + given.set_id.to_hex());
  }
  check_members(given, "replSetInitiate");
  SetConfig config = given;
  config.set_id = bson::ObjectId::generate();
  config.term = 0;
  append_noop("initiating set");
  adopt(std::move(config));
  state_ = MemberState::secondary;
  base::log(Severity::info, LogComponent::repl, 21356, "replSetInitiate admin command received", Attributes().json("config", bson::to_json(config_->document())));
  elect();
}

void SingleMember::reconfigure(SetConfig next, bool force) {
  std::lock_guard lock(mutex_);
  if (!config_) throw OperationError(error::not_yet_initialized, "Node not yet initialized; use the replSetInitiate command");
  if (!force && state() != MemberState::primary) {
    not_primary("New config is only accepted by the primary. Use the \"force\" argument to force this node to accept it");
  }
  // Skips versions, so that a forced one is newer than what others may have decided meanwhile.
  if (force) next.version = std::max(next.version, config_->version + 1) + 10'000;
  check_reconfig(*config_, next, force);
  check_members(next, "replSetReconfig");
  next.set_id = config_->set_id;
  next.term = term_;
  append_noop("Reconfig set");
  adopt(std::move(next));
  base::log(Severity::info, LogComponent::repl, 21392, "New replica set config in use", Attributes().json("config", bson::to_json(config_->document())));
  options_.changed();
}

void SingleMember::step_down(const StepDown& how) {
  {
    std::lock_guard lock(mutex_);
    if (state() != MemberState::primary) not_primary("not primary so can't step down");
    if (!how.force) {
      throw OperationError(error::exceeded_time_limit, "No electable secondaries caught up as of " + base::iso_date(base::system_clock().wall_ms()) +
                                                           ". Please use the replSetStepDown command with the argument {force: true} to force node to step down.");
    }
    state_.store(MemberState::secondary, std::memory_order_release);  // from here on no new write begins
    since_us_ = now_us();
    electable_us_ = now_us() + how.period_ms * 1000;
    options_.changed();
  }
  // The longer ones are told to stop; when the last one has, the member is no primary any more.
  options_.interrupt_writers();
  { const std::lock_guard none_writes(primary_mutex_); }
  base::log(Severity::info, LogComponent::repl, 21358, "Replica set state transition", Attributes().add("newState", "SECONDARY").add("oldState", "PRIMARY"));
  woken_.notify_all();
}

void SingleMember::freeze(int64_t ms) {
  {
    std::lock_guard lock(mutex_);
    if (!config_) throw OperationError(error::not_yet_initialized, "no replset config has been received");
    if (state() == MemberState::primary) {
      throw OperationError(error::not_secondary, "cannot freeze node when primary or running for election. state: Primary");
    }
    electable_us_ = ms == 0 ? 0 : std::max(electable_us_, now_us() + ms * 1000);
  }
  woken_.notify_all();
}

std::optional<WriteConcernFailure> SingleMember::unsatisfiable(const WriteConcern& concern) const {
  std::shared_ptr<const SetConfig> config;
  {
    std::lock_guard lock(mutex_);
    config = config_;
  }
  if (!config) return WriteConcernFailure{error::not_yet_initialized, "Replica set not yet initialized"};
  const WriteConcernFailure too_few{error::unsatisfiable_write_concern, "Not enough data-bearing nodes"};
  if (concern.majority()) return std::nullopt;
  bson::DocumentView wanted = concern.tags;
  if (!concern.mode.empty()) {
    const auto mode = config->write_modes.find(concern.mode);
    if (!mode.is_object()) {
      return WriteConcernFailure{ErrorCode::unknown_repl_write_concern, "No write concern mode named '" + concern.mode + "' found in replica set configuration"};
    }
    wanted = mode.as_document();
  } else if (concern.tags.empty()) {
    if (concern.members > static_cast<int64_t>(config->members.size())) return too_few;
    return std::nullopt;
  }
  // Each tag wants so many different values among the members: one member has one.
  for (const auto& tag : wanted) {
    int64_t values = 0;
    for (const MemberConfig& member : config->members) values += member.tags.has(tag.name);
    if (values < tag.to_int64()) return too_few;
  }
  return std::nullopt;
}

void SingleMember::when_acknowledged(OpTime, const WriteConcern& concern, std::function<void(std::optional<WriteConcernFailure>)> done) {
  if (auto why = unsatisfiable(concern)) return done(std::move(why));
  if (!concern.majority() && !concern.journal) return done(std::nullopt);
  engine_.when_durable([done = std::move(done)] { done(std::nullopt); });
}

void SingleMember::write_noop(storage::Stamp at_least, std::string_view why) {
  const auto lock = hold_primary();
  engine_.raise_stamp(at_least);
  append_noop(why);
}

}  // namespace replication
