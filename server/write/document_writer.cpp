#include "server/write/document_writer.h"

#include <atomic>

#include "base/clock.h"
#include "replication/committer.h"
#include "server/operation.h"
#include "server/services.h"
#include "server/write/target.h"

namespace server::write {

storage::RecordId DocumentWriter::insert(storage::Transaction& transaction, bson::DocumentView document) {
  return op_.services().committer->insert(transaction, *target_, document).id;
}

void DocumentWriter::update(storage::Transaction& transaction, storage::RecordId record, bson::DocumentView before,
                            bson::DocumentView after, bool replacement) {
  const auto form = replacement ? replication::UpdateForm::replacement : replication::UpdateForm::smallest;
  op_.services().committer->update(transaction, *target_, record, before, after, form);
}

void DocumentWriter::remove(storage::Transaction& transaction, storage::RecordId record, bson::DocumentView before) {
  op_.services().committer->remove(transaction, *target_, record, before);
}

bson::Timestamp unique_timestamp(OperationContext& op) {
  static std::atomic<uint64_t> last{0};
  const uint64_t now = static_cast<uint64_t>(op.services().clock.wall_ms() / 1000) << 32;
  uint64_t before = last.load();
  uint64_t next;
  do next = std::max(before + 1, now + 1);
  while (!last.compare_exchange_weak(before, next));
  return {static_cast<uint32_t>(next >> 32), static_cast<uint32_t>(next)};
}

}  // namespace server::write
