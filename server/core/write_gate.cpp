#include "server/core/write_gate.h"

#include "storage/upkeep/backup.h"

namespace server {

WriteGate::WriteGate(storage::Engine& engine) : engine_(engine) {}
WriteGate::~WriteGate() = default;

int64_t WriteGate::close(const base::Interrupted& interrupted) {
  const base::InterruptibleLock changing(changing_, interrupted);
  if (!closed()) {
    base::ExclusiveHold hold = base::hold_exclusively(passing_, interrupted);
    files_ = std::make_unique<storage::Backup>(engine_);
    hold_ = std::move(hold);
  }
  return ++closed_;
}

int64_t WriteGate::open(const base::Interrupted& interrupted) {
  const base::InterruptibleLock changing(changing_, interrupted);
  if (!closed()) return -1;
  if (closed_ == 1) {
    files_.reset();
    hold_ = base::ExclusiveHold();
  }
  return --closed_;
}

}  // namespace server
