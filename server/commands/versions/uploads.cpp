#include "server/commands/versions/uploads.h"

#include "base/clock_time.h"
#include "base/error.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "storage/store.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

Uploads::Upload Uploads::take(OperationContext& op, const std::string& id, const std::string& database, int64_t offset) {
  const auto now = base::now(op.services().clock);
  const base::MutexLock lock(mutex_);
  std::erase_if(waiting_, [&](const auto& one) { return now - one.second.used > idle_max; });
  auto found = waiting_.extract(id);
  if (offset == 0) {
    if (waiting_.size() >= count_max)
      throw OperationError(ErrorCode::exceeded_memory_limit, "too many packs are being received; try again later");
    return {.database = database,
            .file = std::make_unique<query::SpillFile>(query::spill_directory(op), op.services().store->engine()),
            .bytes = 0,
            .used = now};
  }
  if (found.empty() || found.mapped().database != database || found.mapped().bytes != offset)
    throw OperationError(ErrorCode::bad_value, "no pack is being received that goes on at offset " + std::to_string(offset));
  return std::move(found.mapped());
}

void Uploads::keep(const OperationContext& op, const std::string& id, Upload upload) {
  upload.used = base::now(op.services().clock);
  const base::MutexLock lock(mutex_);
  waiting_.insert_or_assign(id, std::move(upload));
}

}  // namespace server
