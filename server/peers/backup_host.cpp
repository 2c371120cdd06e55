#include "server/peers/backup_host.h"

#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "storage/store.h"

namespace server::peers {

using base::OperationError;

namespace {

[[noreturn]] void is_busy() {
  throw OperationError(BackupHost::busy, "another member is copying this member's data; try again later, or another member");
}

}  // namespace

BackupHost::Lent BackupHost::begin(const std::string& asker) {
  Lent replaced;
  {
    const base::MutexLock lock(mutex_);
    if (opening_ || (lent_.backup && asker_ != asker)) is_busy();
    replaced = std::exchange(lent_, {});
    opening_ = true;
  }
  replaced = {};
  Lent made;
  try {
    made.backup = std::make_shared<const storage::Backup>(store_.engine());
  } catch (const OperationError& error) {
    const base::MutexLock lock(mutex_);
    opening_ = false;
    if (static_cast<int32_t>(error.code()) == storage::Backup::already_open) is_busy();  // the old backup still has a reader
    throw;
  } catch (...) {
    const base::MutexLock lock(mutex_);
    opening_ = false;
    throw;
  }
  made.id = static_cast<int64_t>(base::entropy64() >> 1);
  base::log(base::Severity::info, base::LogComponent::repl, 7300401, "A member begins to copy this member's data",
            base::Attributes()
                .add("member", asker)
                .add("files", static_cast<int64_t>(made.backup->files().size()))
                .add("bytes", made.backup->total_bytes()));
  const base::MutexLock lock(mutex_);
  opening_ = false;
  lent_ = made;
  asker_ = asker;
  used_us_ = clock_.monotonic_us();
  return made;
}

std::shared_ptr<const storage::Backup> BackupHost::use(int64_t id) {
  const base::MutexLock lock(mutex_);
  if (!lent_.backup || lent_.id != id) throw OperationError(gone, "backup " + std::to_string(id) + " not found");
  used_us_ = clock_.monotonic_us();
  return lent_.backup;
}

void BackupHost::end(int64_t id) {
  Lent ended;  // outlives the lock, because closing takes a while
  const base::MutexLock lock(mutex_);
  if (lent_.id == id) ended = std::exchange(lent_, {});
}

void BackupHost::expire() {
  Lent ended;
  std::string asker;
  {
    const base::MutexLock lock(mutex_);
    if (!lent_.backup || clock_.monotonic_us() - used_us_ < idle_ms_max * 1000) return;
    ended = std::exchange(lent_, {});
    asker = asker_;
  }
  base::log(base::Severity::warning, base::LogComponent::repl, 7300402, "A backup that nobody read from any more was ended",
            base::Attributes().add("member", asker));
}

}  // namespace server::peers
