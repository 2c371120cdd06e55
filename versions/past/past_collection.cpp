#include "versions/past/past_collection.h"

#include <algorithm>

#include "base/error.h"
#include "bson/keystring.h"
#include "storage/collections/catalog.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/store.h"
#include "versions/past/past_cursors.h"

namespace versions::past {

using base::ErrorCode;
using base::OperationError;

PastCollection::PastCollection(Past& past, std::shared_ptr<storage::StoredCollection> base, const storage::CollectionEntry& entry,
                               std::string ns, DeclaredSnapshot snapshot, std::shared_ptr<ShownRecords> of_branch)
    : past_(past),
      base_(std::move(base)),
      ns_(std::move(ns)),
      snapshot_(std::move(snapshot)),
      options_(entry.options),
      of_branch_(std::move(of_branch)),
      was_shared_(base_->moves()) {
  for (const storage::IndexEntry& index : entry.indexes) indexes_.push_back(past.store().catalog().index_as_of(*base_, index));
}

std::shared_ptr<const storage::Index> PastCollection::index(std::string_view name) const {
  const auto found = std::find_if(indexes_.begin(), indexes_.end(), [&](const auto& one) { return one->spec().name == name; });
  return found == indexes_.end() ? nullptr : *found;
}

storage::Stored PastCollection::insert(Transaction&, bson::DocumentView) {
  refuse_write();
}
storage::Updated PastCollection::update(Transaction&, RecordId, bson::DocumentView, bson::DocumentView) {
  refuse_write();
}
storage::Superseded PastCollection::remove(Transaction&, RecordId, bson::DocumentView) {
  refuse_write();
}

void PastCollection::refuse_write() const {
  throw OperationError(ErrorCode::illegal_operation, "cannot write to " + ns_ + ": " + std::string(read_only_because()));
}

std::shared_ptr<const ShownRows> PastCollection::known_rows(Transaction& transaction) const {
  const base::MutexLock lock(mutex_);
  return rows_ && transaction.visible_below() <= rows_->known_below ? rows_ : nullptr;
}

std::optional<Stamp> PastCollection::row(Transaction& transaction, RecordId id) const {
  auto rows = known_rows(transaction);
  if (!rows && past_.looks_alone(this->id(), snapshot_.stamp))
    return past_.log(this->id()).find(transaction, snapshot_.stamp, id);
  if (!rows) rows = this->rows(transaction);
  return rows->find(id);
}

std::shared_ptr<const ShownRows> PastCollection::rows(Transaction& transaction) const {
  if (auto rows = known_rows(transaction)) return rows;
  auto rows = past_.rows(transaction, id(), snapshot_.stamp);
  const base::MutexLock lock(mutex_);
  return rows_ = std::move(rows);
}

std::optional<Stamp> PastCollection::known_saved(RecordId id) const {
  const base::MutexLock lock(mutex_);
  return rows_ ? rows_->find(id) : std::nullopt;
}

std::optional<PastCollection::Shown> PastCollection::read(Transaction& transaction, RecordId id) {
  Shown shown{id, {}, {}, past_.purges()};
  storage::KeptContents kept(base_->records(), transaction);
  // A mapping stays the first of its row however old the table is. If the transaction doesn't see that the content left the row,
  // the content isn't in the chain table for it.
  if (const auto known = known_saved(id); known && shows_saved({id, *known})) {
    if (past_.find_content(transaction, kept, this->id(), {id, *known}, snapshot_.stamp, shown.content, &shown.info))
      return shown;
  }
  if (base_->records().find_not_after(transaction, id, snapshot_.stamp, shown.content, &shown.info)) return shown;
  const auto then = row(transaction, id);
  if (!then || !shows_saved({id, *then})) return std::nullopt;
  past_.read_content(transaction, kept, this->id(), {id, *then}, snapshot_.stamp, shown.content, &shown.info);
  return shown;
}

std::optional<bson::Document> PastCollection::find(Transaction& transaction, RecordId id, storage::ReadInfo* info) {
  check_whole();
  std::optional<Shown> shown;
  {
    const base::MutexLock lock(mutex_);
    if (found_ && found_->record == id && found_->purges == past_.purges()) shown.swap(found_);
  }
  if (!shown) shown = read(transaction, id);
  if (!shown) return std::nullopt;
  if (info) {
    info->hops += shown->info.hops;
    info->chain_bytes += shown->info.chain_bytes;
    info->lent |= shown->info.lent;
  }
  return bson::Document(std::move(shown->content));
}

namespace {

// The range contains the key with whatever follows it in rows of an index.
storage::KeyRange range_of(BytesView key) {
  return {Bytes(key), Bytes(key) + Bytes(17, '\xff')};
}

Bytes id_key(const storage::Index& id_index, const bson::ValueView& id) {
  bson::KeyString key;
  key.append(id, false, id_index.spec().collator.get());
  return std::move(key).bytes();
}

}  // namespace

std::optional<RecordId> PastCollection::find_id(Transaction& transaction, const bson::ValueView& id) {
  check_whole();
  if (indexes_.empty() || !indexes_.front()->is_id()) return std::nullopt;
  const Bytes key = id_key(*indexes_.front(), id);
  if (of_branch_) {
    PastIndexCursor versions(shared_from_this(), indexes_.front(), transaction, Direction::forward);
    versions.seek(range_of(key));
    while (versions.next()) {
      if (versions.key() == key) return versions.record();
    }
    return std::nullopt;
  }
  if (const auto record = indexes_.front()->find(transaction, key)) {
    if (shows_as(transaction, *record, key)) return record;
  }
  SavedEntries::Cursor saved(past_.entries(), transaction, this->id(), indexes_.front()->number(), Direction::forward);
  const storage::KeyRange range = range_of(key);
  saved.seek(range);
  while (saved.next()) {
    if (saved.key() == range.from && may_show(saved.record()) && shows_as(transaction, saved.record(), range.from))
      return saved.record();
  }
  return std::nullopt;
}

std::optional<Stamp> PastCollection::generation(Transaction& transaction, RecordId id) const {
  if (!may_show(id)) return std::nullopt;
  if (const auto in_row = base_->records().generation_not_after(transaction, id, snapshot_.stamp, false)) return in_row;
  const auto then = row(transaction, id);
  if (!then || !shows_saved({id, *then})) return std::nullopt;
  return past_.shown_generation(transaction, *base_, {id, *then}, snapshot_.stamp);
}

bool PastCollection::shows_current(Transaction& transaction, RecordId record, BytesView key, bool of_ids) {
  if (!may_show(record)) return false;
  // A record's key in the `_id` index doesn't change while the record lives.
  if (base_->records().generation_not_after(transaction, record, snapshot_.stamp, !of_ids)) return true;
  return of_ids && shows_as(transaction, record, key);
}

bool PastCollection::shows_as(Transaction& transaction, RecordId record, BytesView key) {
  auto shown = read(transaction, record);
  if (!shown || id_key(*indexes_.front(), bson::DocumentView(shown->content).find("_id")) != key) return false;
  const base::MutexLock lock(mutex_);
  found_ = std::move(shown);
  return true;
}

bool PastCollection::gone(const storage::StoredIndex& index) const {
  if (index.is_id()) return false;
  if (base_->dropped()) return true;  // it may have been dropped before: after a restart nobody knows
  const auto now = base_->stored_indexes();
  return std::none_of(now->begin(), now->end(), [&](const auto& one) { return one->number() == index.number(); });
}

std::unique_ptr<storage::CollectionScan> PastCollection::scan(Transaction& transaction, Direction direction) {
  check_whole();
  return std::make_unique<PastScan>(shared_from_this(), transaction, direction);
}

std::unique_ptr<storage::IndexCursor> PastCollection::scan(Transaction& transaction, const storage::Index& index,
                                                           Direction direction) {
  check_whole();
  const auto& stored = static_cast<const storage::StoredIndex&>(index);
  return std::make_unique<PastIndexCursor>(shared_from_this(), stored.shared_from_this(), transaction, direction);
}

int64_t PastCollection::record_count() const {
  return counted(false).records;
}
int64_t PastCollection::logical_bytes() const {
  return counted(true).bytes.value();
}

PastCollection::Counted PastCollection::counted(bool with_bytes) const {
  check_whole();
  constexpr int64_t renewed_after = 4096;  // records; a transaction that lasts keeps what is overwritten meanwhile in the cache
  const base::InterruptibleLock counting(counting_, storage::ask_interrupted);
  Counted counted{.purges = past_.purges()};
  if (counted_ && counted_->purges == counted.purges && (counted_->bytes || !with_bytes)) return *counted_;
  if (with_bytes) counted.bytes = 0;
  auto transaction = std::make_unique<Transaction>(past_.store(), Transaction::Mode::read);
  PastScan scan(std::const_pointer_cast<PastCollection>(shared_from_this()), *transaction, Direction::forward);
  while (scan.next()) {
    if (with_bytes) *counted.bytes += static_cast<int64_t>(scan.document().size());
    if (++counted.records % renewed_after != 0) continue;
    storage::ask_interrupted();
    scan.save();
    transaction = nullptr;
    transaction = std::make_unique<Transaction>(past_.store(), Transaction::Mode::read);
    scan.restore(*transaction);
  }
  counted_ = counted;
  return counted;
}

}  // namespace versions::past
