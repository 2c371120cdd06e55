#include "server/core/session_registry.h"

#include "base/error.h"
#include "bson/builder.h"
#include "server/core/client.h"

namespace server {

namespace {

constexpr int32_t too_many_logical_sessions = 261;

constexpr size_t uuid_bytes = 16;

bson::Bytes key_of(bson::DocumentView lsid, bson::BytesView user) {
  bson::Bytes key;
  key.reserve(uuid_bytes + user.size());
  key.append(lsid.find("id").as_binary().bytes);
  return key.append(user);
}

}  // namespace

bson::Bytes session_key(bson::DocumentView lsid, const Client& client) {
  return session_key(lsid, client.authority());
}

bson::Bytes session_key(bson::DocumentView lsid, const access::AuthorityPtr& user) {
  return key_of(lsid, user ? user->digest : access::digest_of_nobody());
}

bson::Bytes session_key_of(bson::DocumentView session) {
  const auto user = session.find("uid");
  return key_of(session, user.type() == bson::Type::binary ? user.as_binary().bytes : access::digest_of_nobody());
}

bson::Document session_document(bson::BytesView key) {
  bson::Builder out;
  out.append("id", bson::Binary{4, key.substr(0, uuid_bytes)}).append("uid", bson::Binary{0, key.substr(uuid_bytes)});
  return out.done();
}

bson::BytesView session_uuid(bson::BytesView key) {
  return key.substr(0, uuid_bytes);
}

void SessionRegistry::use(const bson::Bytes& key, int64_t now_ms) {
  const base::MutexLock lock(mutex_);
  const auto found = sessions_.find(key);
  if (found != sessions_.end()) {
    found->second = {now_ms, true};
    return;
  }
  if (static_cast<int64_t>(sessions_.size()) >= sessions_max) {
    throw base::OperationError(too_many_logical_sessions,
                               "Unable to add session ID into the cache because the number of active sessions is too high");
  }
  sessions_.emplace(key, Entry{now_ms, true});
}

void SessionRegistry::end(const bson::Bytes& key) {
  const base::MutexLock lock(mutex_);
  // Another member may know a session that this one doesn't, but there is no end of sessions that nobody knows.
  if (sessions_.erase(key) != 0 || static_cast<int64_t>(ended_.size()) < sessions_max) ended_.push_back(key);
}

void SessionRegistry::end_all() {
  const base::MutexLock lock(mutex_);
  for (const auto& [key, entry] : sessions_) ended_.push_back(key);
  sessions_.clear();
}

bool SessionRegistry::knows(bson::BytesView key) const {
  const base::MutexLock lock(mutex_);
  return sessions_.find(key) != sessions_.end();
}

std::vector<SessionRegistry::Session> SessionRegistry::active() const {
  const base::MutexLock lock(mutex_);
  std::vector<Session> active;
  for (const auto& [key, entry] : sessions_) active.push_back({key, entry.used_ms});
  return active;
}

SessionRegistry::News SessionRegistry::take_news() {
  const base::MutexLock lock(mutex_);
  News news;
  for (auto& [key, entry] : sessions_) {
    if (entry.news) news.used.push_back({key, entry.used_ms});
    entry.news = false;
  }
  news.ended.swap(ended_);
  return news;
}

std::vector<bson::Bytes> SessionRegistry::expire(int64_t now_ms) {
  const base::MutexLock lock(mutex_);
  std::vector<bson::Bytes> expired;
  for (auto at = sessions_.begin(); at != sessions_.end();) {
    if (now_ms - at->second.used_ms < timeout_minutes * 60'000) {
      ++at;
      continue;
    }
    expired.push_back(at->first);
    ended_.push_back(at->first);
    at = sessions_.erase(at);
  }
  return expired;
}

}  // namespace server
