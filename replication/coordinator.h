// A coordinator says what a member is in its replica set, and what the set lets it do.
//
// The server asks it before it writes, when it answers hello, and when a
// client wants to know that others have its write (replica_set.h).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>

#include "base/error.h"
#include "replication/optime.h"
#include "replication/set_config.h"

namespace replication {

// The numbers replSetGetStatus shows.
enum class MemberState : int32_t {
  startup = 0,
  primary = 1,
  secondary = 2,
  recovering = 3,
  startup2 = 5,
  unknown = 6,
  arbiter = 7,
  down = 8,
  rollback = 9,
  removed = 10
};
std::string_view state_name(MemberState state);  // "PRIMARY"

struct WriteConcern {
  int64_t members = 1;  // where no mode is given
  std::string mode;     // "majority", or one of the set's own
  bson::Document tags;  // {tag: count}; empty: none
  bool journal = false;
  int64_t timeout_ms = 0;  // 0: wait for ever

  bool majority() const { return mode == "majority"; }
};

struct WriteConcernFailure {
  base::ErrorCode code;
  std::string message;
};

struct Progress {
  struct Place {
    OpTime optime = no_optime;
    int64_t wall_ms = 0;
  };
  Place applied;    // the log without a gap, in memory
  Place durable;    // survives power loss here
  Place committed;  // survives with the majority
};

// The newest entry of a member's log, majority-committed or not. Of two logs the one that ends later has all that was ever
// majority-committed in the other.
struct LogEnd {
  int64_t term = -1;  // -1: no log
  int64_t index = 0;
  auto operator<=>(const LogEnd&) const = default;
};

// One consistent look at what changes together.
struct Standing {
  MemberState state = MemberState::startup;
  bool stepping_down = false;               // a primary that lets no write begin: it waits for another to take over
  int64_t term = -1;                        // -1: not initiated
  std::shared_ptr<const SetConfig> config;  // nullptr: not initiated
  const MemberConfig* self = nullptr;       // within `config`
  const MemberConfig* primary = nullptr;    // within `config`; nullptr: none known
  bson::ObjectId election_id;               // of the primary
  int64_t elected_ms = 0;                   // wall clock; of the primary
  int64_t since_us = 0;                     // monotonic: in this state since
  storage::Stamp config_written = 0;        // on a primary: where `config` stands in its log
  std::string_view waits_for_room;          // what a full disk holds up; empty: nothing
};

struct StepDown {
  int64_t period_ms = 60'000;    // not electable for so long
  int64_t catch_up_ms = 10'000;  // others may take to catch up
  bool force = false;            // though nobody can take over
};

// Thread-safe.
class Coordinator {
 public:
  virtual ~Coordinator() = default;

  virtual const std::string& set_name() const = 0;
  virtual Standing standing() const = 0;
  virtual Progress progress() const = 0;
  virtual LogEnd log_end() const = 0;
  // Tells whether consensus knows the host as a member: then a configuration that names it is majority-committed.
  virtual bool knows(const std::string& host) const = 0;

  bool writable() const { return state() == MemberState::primary; }
  virtual MemberState state() const = 0;  // cheap: asked with each command
  // The term to write in. Throws NotWritablePrimary.
  virtual int64_t write_term() const = 0;
  // Held while a client's write runs: the member doesn't stop being primary meanwhile. Throws NotWritablePrimary.
  virtual std::shared_lock<std::shared_mutex> hold_primary() = 0;

  // Each blocks until it is done and durable: a configuration that isn't forced is majority-committed within ten seconds, or an
  // error says that it is not known to be. Throw as mongod's commands answer. A forced reconfigure() on a member that isn't
  // primary makes it the only one that votes: the process starts anew, leads, and the others of the configuration copy its data.
  virtual void initiate(const SetConfig& config) = 0;
  // The one that stands where replSetInitiate is given none.
  virtual SetConfig default_config() const = 0;
  virtual void reconfigure(SetConfig config, bool force) = 0;
  virtual void step_down(const StepDown& how) = 0;
  // The member isn't electable for so long; 0: it is electable again.
  virtual void freeze(int64_t ms) = 0;
  // RECOVERING until as many calls have ended it as have begun it: not to be read from, and not electable; it follows the log
  // meanwhile.
  virtual void maintain(bool on) = 0;

  // Can the set as it is ever give this? Else why not.
  virtual std::optional<WriteConcernFailure> unsatisfiable(const WriteConcern& concern) const = 0;
  // Calls back, from any thread, when everything up to `optime` is acknowledged as `concern` asks, or why it was not.
  virtual void when_acknowledged(OpTime optime, const WriteConcern& concern,
                                 std::function<void(std::optional<WriteConcernFailure>)> done) = 0;

  // Calls back, from any thread, when what was read here up to `read_at` is the majority's, and on a primary: when a majority has
  // confirmed, after this call, that it still is one. Else why it can't be said.
  virtual void when_read_stands(OpTime read_at, std::function<void(std::optional<WriteConcernFailure>)> done) = 0;

  // Calls back once, from any thread, when something with a later timestamp than this is majority-committed and can be read here;
  // or when this member stops being primary, whatever is committed then.
  virtual void when_committed_past(storage::Stamp stamp, std::function<void()> done) = 0;

  // Another member has this configuration. A member uses it that has none yet, or that the log no longer reaches.
  virtual void learn_config(const SetConfig& config, const std::string& from) = 0;

  // The newest time that clients and members have spoken of (gossip). It goes up.
  void learn_time(storage::Stamp time) {
    storage::Stamp known = known_time_.load(std::memory_order_relaxed);
    while (time > known && !known_time_.compare_exchange_weak(known, time)) {
    }
  }
  storage::Stamp known_time() const { return known_time_.load(std::memory_order_relaxed); }

  // Writes an entry that changes nothing and says `message`. Returns its timestamp, which is after `at_least`.
  virtual storage::Stamp write_noop(storage::Stamp at_least, bson::DocumentView message) = 0;

 private:
  std::atomic<storage::Stamp> known_time_{0};
};

}  // namespace replication
