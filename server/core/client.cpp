#include "server/core/client.h"

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

}  // namespace server
