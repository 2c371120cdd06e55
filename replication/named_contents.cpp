#include "replication/named_contents.h"

#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace replication {

using base::ErrorCode;
using base::OperationError;
using storage::Stamp;
using storage::Transaction;

storage::Collection* NamedContents::collection_of(const Entry& entry) {
  if (!last_ || last_->id() != entry.collection) {
    last_ = store_.catalog().open(entry.collection);
    if (!last_) last_ = store_.catalog().dropped(entry.collection);
  }
  return last_.get();
}

std::optional<Bytes> NamedContents::find(Transaction& transaction, Stamp stamp, const Entry& entry) {
  storage::Collection* const collection = collection_of(entry);
  if (!collection) return std::nullopt;
  try {
    return collection->records().find(transaction, entry.record, stamp);
  } catch (const OperationError&) {
    if (!collection->dropped()) throw;  // else the tables may be gone
  }
  return std::nullopt;
}

// A row of the transaction's snapshot may name a content that the row has taken in since, because the collection was dropped.
std::optional<Entry> NamedContents::whole(Transaction& transaction, Stamp stamp, const Entry& entry, Bytes& held) {
  if (entry.form == Entry::Form::whole) return entry;
  if (auto content = find(transaction, stamp, entry)) {
    held = std::move(*content);
    return made_whole(entry, bson::DocumentView(held));
  }
  auto row = row_(stamp);
  if (!row) {
    throw OperationError(
        ErrorCode::capped_position_lost,
        "CollectionScan died due to position in capped collection being deleted. Last seen record id: RecordId(" +
            std::to_string(stamp) + ")");
  }
  held = std::move(*row);
  const Entry now = decode(held).or_throw();
  if (now.form == Entry::Form::whole) return now;
  if (!collection_of(entry)) return std::nullopt;
  throw OperationError(ErrorCode::data_corruption_detected, "the content of an oplog entry is missing: record " +
                                                                std::to_string(entry.record) + " of " + std::string(entry.ns) +
                                                                ", written at Timestamp(" + std::to_string(stamp >> 32) + ", " +
                                                                std::to_string(static_cast<uint32_t>(stamp)) + ")");
}

bool NamedContents::available(Stamp stamp, const Entry& entry) {
  if (entry.form == Entry::Form::whole || collection_of(entry)) return true;
  const auto row = row_(stamp);
  return row && decode(*row).or_throw().form == Entry::Form::whole;
}

}  // namespace replication
