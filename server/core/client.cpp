#include "server/core/client.h"

#include "base/uuid.h"

namespace server {

std::optional<ClientMetadata> Client::metadata() const {
  const base::MutexLock lock(mutex_);
  return metadata_;
}

bool Client::set_metadata(ClientMetadata metadata) {
  const base::MutexLock lock(mutex_);
  if (metadata_) return false;
  metadata_ = std::move(metadata);
  return true;
}

bson::Bytes Client::audit_id() const {
  const base::MutexLock lock(mutex_);
  if (audit_id_.empty()) audit_id_ = base::random_uuid();
  return audit_id_;
}

access::AuthorityPtr Client::authority() const {
  const base::MutexLock lock(mutex_);
  return authority_;
}

void Client::set_authority(access::AuthorityPtr authority, uint64_t generation) {
  authority_generation = generation;
  const base::MutexLock lock(mutex_);
  authority_ = std::move(authority);
}

}  // namespace server
