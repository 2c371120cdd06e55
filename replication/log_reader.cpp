#include "replication/log_reader.h"

#include <algorithm>

#include "storage/store.h"

namespace replication {

using base::ErrorCode;
using base::OperationError;
using storage::Stamp;

void LogReader::add(storage::Transaction& transaction, Stamp stamp, const Entry& entry, LogRecordBuilder& builder) {
  Bytes held;
  const auto whole = contents_.whole(transaction, stamp, entry, held);
  if (!whole) {
    throw OperationError(ErrorCode::data_corruption_detected,
                         "the content of an oplog entry went with its collection: " + std::string(entry.ns));
  }
  builder.add(stamp, *whole);
}

std::vector<LogRecord> LogReader::read(Stamp from, Stamp below, size_t bytes_max) {
  std::vector<LogRecord> records;
  LogRecordBuilder builder;
  Stamp current = 0;
  size_t bytes = 0;
  storage::Transaction transaction(store_, storage::Transaction::Mode::read);
  below = std::min(below, transaction.visible_below());
  storage::TableCursor rows = oplog_.rows(transaction);
  for (bool on = rows.seek(entry_key(std::max<Stamp>(from, 1))); on; on = rows.next()) {
    const Stamp stamp = stamp_from_key(rows.key());
    if (stamp >= below) break;
    const Entry entry = decode(rows.value()).or_throw();
    if (!builder.empty() && stamp - entry.behind_first != current) {
      bytes += builder.bytes();
      records.push_back(builder.done());
      if (bytes >= bytes_max) return contents_.let_go(), records;
    } else if (builder.bytes() >= (entry.in_transaction ? log_part_bytes : log_merge_part_bytes)) {
      bytes += builder.bytes();
      records.push_back(builder.done(true));
      if (bytes >= bytes_max) return contents_.let_go(), records;
    }
    current = stamp - entry.behind_first;
    add(transaction, stamp, entry, builder);
  }
  if (!builder.empty()) records.push_back(builder.done());
  contents_.let_go();
  return records;
}

}  // namespace replication
