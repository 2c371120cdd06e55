#include "replication/log_reader.h"

#include <algorithm>

#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace replication {

using base::ErrorCode;
using base::OperationError;
using storage::Stamp;

namespace {

[[noreturn]] void missing(Stamp stamp, const Entry& entry) {
  throw OperationError(ErrorCode::data_corruption_detected, "the content of an oplog entry is missing: record " +
                                                                std::to_string(entry.record) + " of " + std::string(entry.ns) +
                                                                ", written at Timestamp(" + std::to_string(stamp >> 32) + ", " +
                                                                std::to_string(static_cast<uint32_t>(stamp)) + ")");
}

}  // namespace

storage::Collection& LogReader::collection_of(Stamp stamp, const Entry& entry) {
  if (last_ && last_->id() == entry.collection) return *last_;
  last_ = store_.catalog().open(entry.collection);
  if (!last_) last_ = store_.catalog().dropped(entry.collection);
  if (!last_) missing(stamp, entry);
  return *last_;
}

void LogReader::add(storage::Transaction& transaction, Stamp stamp, const Entry& entry, LogRecordBuilder& builder) {
  if (entry.form == Entry::Form::whole) return builder.add(stamp, entry);
  const auto content = collection_of(stamp, entry).records().find(transaction, entry.record, stamp);
  if (!content) missing(stamp, entry);
  builder.add(stamp, made_whole(entry, bson::DocumentView(*content)));
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
      if (bytes >= bytes_max) return last_.reset(), records;
    } else if (builder.bytes() >= (entry.in_transaction ? log_part_bytes : log_merge_part_bytes)) {
      bytes += builder.bytes();
      records.push_back(builder.done(true));
      if (bytes >= bytes_max) return last_.reset(), records;
    }
    current = stamp - entry.behind_first;
    add(transaction, stamp, entry, builder);
  }
  if (!builder.empty()) records.push_back(builder.done());
  last_.reset();  // a dropped one is not kept for our sake
  return records;
}

}  // namespace replication
