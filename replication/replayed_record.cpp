#include "replication/replayed_record.h"

#include "bson/json.h"
#include "replication/committer.h"
#include "replication/performer.h"

namespace replication {

// The entry is found by its command, not by its turn: after a conflict the change is made from its beginning.
void ReplayedRecord::append(storage::Transaction& transaction, std::string_view db, BytesView uuid,
                            bson::DocumentView command) const {
  if (!has_history(db)) return;
  const std::string ns = std::string(db) + ".$cmd";
  const Bytes none(16, '\0');
  size_t documents = 0;
  for (size_t i = 0; i < record_.entries.size(); ++i) {
    const Entry& entry = record_.entries[i].entry;
    if (entry.op != 'c') continue;
    if (entry.ns == ns && entry.uuid == (uuid.empty() ? BytesView(none) : uuid) && entry.o.bytes() == command.bytes()) {
      Performer performer(oplog_, transaction);
      for (size_t at = documents; at <= i; ++at) performer.append(record_.entries[at].entry, record_.entries[at].stamp);
      return;
    }
    documents = i + 1;
  }
  throw base::OperationError(base::ErrorCode::data_corruption_detected,
                             "here it comes to another change: " + bson::to_json(command));
}

void ReplayedRecord::require_all() const {
  for (const LogRecord::Item& item : record_.entries) {
    if (oplog_.row(item.stamp)) continue;
    throw base::OperationError(base::ErrorCode::data_corruption_detected,
                               "here it changes nothing: " + bson::to_json(item.entry.o));
  }
}

}  // namespace replication
