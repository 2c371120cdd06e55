// A replica set of one: the member elects itself, and what it has on disk is
// what the majority has.
//
//   not initiated --initiate--> SECONDARY --elects itself--> PRIMARY
//                                   ^                           |
//                                   +------- step down ---------+
//
//   local.system.replset     the configuration
//   local.replset.election   the last vote: {term, candidateIndex}
//
// A configuration with more members is refused: NodeNotFound, as by a member
// that reaches none of the others.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "replication/coordinator.h"
#include "replication/oplog.h"

namespace replication {

struct SingleMemberOptions {
  std::string set_name;
  std::string default_host;                                  // "localhost:27017"
  std::function<bool(const std::string& host)> is_self;      // does this name lead here?
  // State or configuration, for those who watch. Called before anyone can see the change through standing(); it mustn't ask back.
  std::function<void()> changed = [] {};
  std::function<void()> interrupt_writers = [] {};           // they hold up a step-down
};

// The term of the last vote in this directory, 1 where there was none: what a standalone server goes on in.
int64_t stored_term(storage::Engine& engine);

class SingleMember final : public Coordinator {
 public:
  // Reads the configuration that is there. Throws InvalidReplicaSetConfig for one of another name, or that is not for one member.
  SingleMember(storage::Engine& engine, Oplog& oplog, SingleMemberOptions options);
  ~SingleMember() override;
  // From here on it elects itself.
  void start();

  const std::string& set_name() const override { return options_.set_name; }
  Standing standing() const override;
  Progress progress() const override;
  MemberState state() const override { return state_.load(std::memory_order_acquire); }
  int64_t write_term() const override;
  std::shared_lock<std::shared_mutex> hold_primary() override;
  void initiate(const SetConfig& config) override;
  SetConfig default_config() const override;
  void reconfigure(SetConfig config, bool force) override;
  void step_down(const StepDown& how) override;
  void freeze(int64_t ms) override;
  std::optional<WriteConcernFailure> unsatisfiable(const WriteConcern& concern) const override;
  void when_acknowledged(OpTime optime, const WriteConcern& concern, std::function<void(std::optional<WriteConcernFailure>)> done) override;
  void write_noop(storage::Stamp at_least, std::string_view why) override;
  void learn_config(const SetConfig&, const std::string&) override {}  // nobody else's is its own

 private:
  void run();
  void elect();                                  // with mutex_
  void adopt(SetConfig config);                  // with mutex_; durable when it returns
  void append_noop(std::string_view why);
  void check_members(const SetConfig& config, const char* doing) const;
  void note_durable();

  storage::Engine& engine_;
  Oplog& oplog_;
  const SingleMemberOptions options_;

  mutable std::mutex mutex_;                     // all below but the atomics
  std::condition_variable woken_;
  bool stopping_ = false;
  std::shared_ptr<const SetConfig> config_;
  int64_t elected_ms_ = 0;
  int64_t since_us_ = 0;
  int64_t electable_us_ = 0;                     // not before, by the monotonic clock
  std::atomic<MemberState> state_{MemberState::startup};
  std::atomic<int64_t> term_{0};
  std::shared_mutex primary_mutex_;              // shared: a write runs; alone: the end of being primary

  struct Durable {                               // shared with callbacks that may come late
    std::mutex mutex;
    Progress::Place place;
  };
  const std::shared_ptr<Durable> durable_ = std::make_shared<Durable>();
  std::thread thread_;
};

}  // namespace replication
