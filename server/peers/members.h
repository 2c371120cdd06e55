// The other members as this one sees them: a heartbeat to each, every two seconds.
//
// Each has a thread of its own, so that one that hangs delays the news of no other. What replSetGetStatus shows comes from here;
// elections and writes don't depend on it, they have consensus.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "server/peers/heartbeat.h"

namespace server::peers {

// What is known of one other member.
struct MemberView {
  enum class Health { unknown, down, up };
  Health health = Health::unknown;  // unknown: no heartbeat has ended yet
  HeartbeatReply said;              // while it is up
  int64_t up_since_us = 0;          // monotonic; while it is up
  int64_t last_heartbeat_ms = 0;    // wall clock; when one last ended, well or badly. 0: never
  int64_t last_heard_ms = 0;        // wall clock; when it last sent one. 0: never
  int64_t ping_ms = 0;              // smoothed
  std::string message;              // why it is down
};

// Thread-safe.
class Members {
 public:
  // `set` is used from start() to stop() alone.
  Members(replication::Coordinator& set, base::Clock& clock);
  ~Members();
  // From here on it asks the members of the set's configuration, whichever it is.
  void start();
  // From here on it asks nobody, and nothing calls into the set.
  void stop();
  // State or configuration have changed: others are asked and told at once. From any thread, under any lock, at any time.
  void nudge();

  // Of a member by its host; one that isn't known has a view that knows nothing.
  MemberView view(const std::string& host) const;
  // Heartbeats' connections, in the order of the hosts' names.
  struct Connection {
    std::string host;
    bool connected = false;
    int64_t created = 0;  // ever, while the member was in the configuration
  };
  std::vector<Connection> connections() const;
  // Each closes its connection and makes another at once.
  void reconnect();

  // A heartbeat came in.
  void heard_from(const std::string& host);

 private:
  class Watch;

  void run();
  void align();  // watches for whom the configuration names
  void note(const std::string& host, HeartbeatReply reply, int64_t took_ms);
  void note_down(const std::string& host, const std::string& why);
  void note_connection(const std::string& host, bool connected, int64_t created);

  replication::Coordinator& set_;
  base::Clock& clock_;
  std::map<std::string, std::unique_ptr<Watch>> watches_;  // the own thread's

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable woken_;
  bool stopping_ = false;
  bool nudged_ = false;
  bool reconnects_ = false;
  std::map<std::string, MemberView> views_;
  std::map<std::string, Connection> connections_;
  std::thread thread_;
};

}  // namespace server::peers
