// The registry knows the logical sessions that clients have used of late. A
// session begins with its first use and ends thirty minutes after its last, or
// when its client ends it; cursors that were opened under it end with it.
//
// config.system.sessions has the sessions of all members; it is updated every few
// minutes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "bson/document.h"
#include "server/access/authority.h"

namespace server {

class Client;

// Returns a session's key: its UUID and the digest of its user. So nobody gets at another user's session by its UUID.
bson::Bytes session_key(bson::DocumentView lsid, const Client& client);
bson::Bytes session_key(bson::DocumentView lsid, const access::AuthorityPtr& user);  // nullptr: nobody is logged in
bson::Bytes session_key_of(bson::DocumentView session);  // {id, uid}; without `uid` nobody is the user
bson::Document session_document(bson::BytesView key);    // {id, uid}
bson::BytesView session_uuid(bson::BytesView key);

// A pattern is the end of a session's key: a whole key stands for that session, the digest of a user for all of the user's
// sessions, and an empty pattern for all sessions.
inline bool fits_session(bson::BytesView key, bson::BytesView pattern) {
  return key.ends_with(pattern);
}

// Thread-safe.
class SessionRegistry {
 public:
  // The parameters localLogicalSessionTimeoutMinutes, maxSessions, logicalSessionRefreshMillis.
  std::atomic<int64_t> timeout_minutes{30};
  std::atomic<int64_t> sessions_max{1'000'000};
  std::atomic<int64_t> refresh_ms{300'000};

  // Throws TooManyLogicalSessions (261).
  void use(const bson::Bytes& key, int64_t now_ms);
  void end(const bson::Bytes& key);
  void end_all();
  bool knows(bson::BytesView key) const;

  struct Session {
    bson::Bytes key;
    int64_t used_ms = 0;
  };
  std::vector<Session> active() const;
  // News is what happened since the last call: which used sessions to write down, and which ended ones to remove.
  struct News {
    std::vector<Session> used;
    std::vector<bson::Bytes> ended;
  };
  News take_news();
  // Forgets the sessions that nobody used for the timeout, and returns them.
  std::vector<bson::Bytes> expire(int64_t now_ms);

 private:
  struct Entry {
    int64_t used_ms = 0;
    bool news = true;
  };
  mutable base::Mutex mutex_;
  std::map<bson::Bytes, Entry, std::less<>> sessions_ GUARDED_BY(mutex_);
  std::vector<bson::Bytes> ended_ GUARDED_BY(mutex_);
};

}  // namespace server
