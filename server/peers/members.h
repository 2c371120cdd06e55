// Members knows the other members as this one sees them: it sends each a heartbeat every two seconds.
//
// Each member has a thread of its own, so that one that hangs delays no other's. replSetGetStatus shows what this class knows;
// elections and writes don't depend on it, because they use consensus.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/tls/contexts.h"
#include "server/peers/heartbeat.h"
#include "server/peers/member_login.h"

namespace server::peers {

// A MemberView is what this member knows of another one.
struct MemberView {
  enum class Health { unknown, down, up };
  Health health = Health::unknown;  // unknown: no heartbeat has ended yet
  HeartbeatReply reply;             // its last reply, while it is up
  int64_t up_since_us = 0;          // monotonic; while it is up
  int64_t last_heartbeat_ms = 0;    // wall clock: when the last heartbeat to it ended, well or badly. 0: never
  int64_t last_heard_ms = 0;        // wall clock: when it last sent a heartbeat. 0: never
  int64_t ping_ms = 0;              // smoothed
  std::string message;              // why it is down
};

// This class is thread-safe.
class Members {
 public:
  // `set` is used only between start() and stop().
  // `tls`: for the connections to the others; nullptr: they are plain. `login`: nullptr if members don't log in.
  Members(replication::Coordinator& set, base::Clock& clock, const base::tls::Contexts* tls = nullptr,
          const MemberLogin* login = nullptr);
  ~Members();
  // Starts asking the members that the set's current configuration names.
  void start();
  // Ends it: from here on it asks nobody, and calls nothing of the set.
  void stop();
  // Called when state or configuration have changed: the other members are asked at once. Any thread may call it, under any lock,
  // at any time.
  void nudge();

  // Returns the view of a member by its host; for an unknown host the view is empty.
  MemberView view(const std::string& host) const;
  // Waits until each of the hosts has answered a heartbeat after `since_ms` (wall clock), or failed to; no longer than `within`.
  void await_heartbeats(const std::vector<std::string>& hosts, int64_t since_ms, std::chrono::milliseconds within);
  // The heartbeats' connections, in the order of the hosts' names.
  struct Connection {
    std::string host;
    bool connected = false;
    int64_t created = 0;  // in total, while the member was in the configuration
  };
  std::vector<Connection> connections() const;
  // Closes each connection and makes another at once.
  void reconnect();

  // Notes that a heartbeat of that member came in.
  void heard_from(const std::string& host);

 private:
  class Watch;

  void run();
  void align();  // starts and ends watches as the configuration names members
  void note(const std::string& host, HeartbeatReply reply, int64_t took_ms);
  void note_down(const std::string& host, const std::string& why);
  void note_connection(const std::string& host, bool connected, int64_t created);

  replication::Coordinator& set_;
  base::Clock& clock_;
  const base::tls::Contexts* const tls_;
  const MemberLogin* const login_;
  std::map<std::string, std::unique_ptr<Watch>> watches_;  // used by the own thread alone

  mutable base::Mutex mutex_;
  base::Condition woken_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool nudged_ GUARDED_BY(mutex_) = false;
  bool reconnects_ GUARDED_BY(mutex_) = false;
  std::map<std::string, MemberView> views_ GUARDED_BY(mutex_);
  base::Condition viewed_;  // views_ have changed
  std::map<std::string, Connection> connections_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace server::peers
