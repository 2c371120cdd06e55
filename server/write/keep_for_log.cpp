#include "server/write/keep_for_log.h"

#include "replication/oplog.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server::write {

versions::BranchedDatabase::Lost keep_for_log(OperationContext& op) {
  return [oplog = op.services().oplog](storage::Transaction& transaction, storage::CollectionId collection,
                                       storage::RecordId record, storage::Stamp generation, base::BytesView content) {
    oplog->keep_content(transaction, collection, record, {generation, base::Bytes(content)});
  };
}

}  // namespace server::write
