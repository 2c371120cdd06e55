// The feed reads the majority-committed end of the log once, for everybody who follows it.
//
//   log        … | 41 42 43 44 | 45        committed up to 44
//   feed             [42 43 44]            the newest changes, in memory
//   followers     41          44           one that is behind reads the log itself until it has caught up
//
// The feed keeps only what some follower's scope has. While nobody follows, it does nothing.
#pragma once

#include <deque>

#include "base/mutex.h"
#include "replication/coordinator.h"
#include "replication/logged_change.h"

namespace replication {

// This class is thread-safe.
class LogFeed {
 public:
  static constexpr size_t kept_bytes_max = 32 << 20;

  LogFeed(storage::Store& store, Oplog& oplog, Coordinator& set);
  ~LogFeed();
  LogFeed(const LogFeed&) = delete;
  LogFeed& operator=(const LogFeed&) = delete;

  // A follower reads the changes of a scope in their order. Not thread-safe, but for when_more and its end. It may outlive the
  // feed; then nothing more comes.
  class Follower {
   public:
    ~Follower();

    // Returns the next change; nullptr: none is majority-committed now, or looking for one has taken half a second.
    // Throws what read_changes throws.
    LoggedChangePtr next(const base::Interrupted& interrupted);
    // Everything of the scope up to this row was returned.
    storage::Stamp passed() const;
    // Calls `wake` once, from any thread, when next() may return a change, or when the follower or the feed ends. A call takes
    // the place of the one before.
    void when_more(std::function<void()> wake);

   private:
    friend class LogFeed;
    struct State;
    explicit Follower(std::shared_ptr<State> state);
    std::shared_ptr<State> state_;
  };
  // A filter says which changes are worth waking a follower for; next() returns the others all the same. Filters with the same
  // name are the same, and are asked once for all followers of a scope. `wants` is called on the feed's thread, and must be
  // quick; if it throws, or there is no time for it, the change counts as wanted.
  struct Filter {
    std::string name;
    std::function<bool(const LoggedChange&)> wants;
  };
  // The follower begins behind `after`.
  std::shared_ptr<Follower> follow(const LogScope& scope, storage::Stamp after, std::shared_ptr<const Filter> filter = nullptr);

  struct Figures {
    int64_t followers = 0;
    int64_t kept_changes = 0, kept_bytes = 0;  // in memory
    int64_t rounds = 0;                        // how often it read on, in total
    int64_t read_behind = 0;                   // changes that followers read from the log themselves, in total
  };
  Figures figures() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace replication
