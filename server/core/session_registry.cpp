#include "server/core/session_registry.h"

#include "base/error.h"
#include "bson/builder.h"

namespace server {

namespace {

constexpr int32_t too_many_logical_sessions = 261;

// SHA-256 of the empty user name.
constexpr unsigned char nobody[] = {0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4,
                                    0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b,
                                    0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55};
constexpr size_t uuid_bytes = 16;

}  // namespace

bson::Bytes session_key(bson::DocumentView lsid) {
  bson::Bytes key;
  key.reserve(uuid_bytes + sizeof nobody);
  key.append(lsid.find("id").as_binary().bytes);
  return key.append(reinterpret_cast<const char*>(nobody), sizeof nobody);
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
  sessions_.erase(key);
  ended_.push_back(key);
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
