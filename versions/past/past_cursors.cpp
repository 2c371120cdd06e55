#include "versions/past/past_cursors.h"

#include <algorithm>

#include "base/error.h"
#include "storage/engine/interruptible_waits.h"

namespace versions::past {

// --- records

PastScan::PastScan(std::shared_ptr<PastCollection> collection, Transaction& transaction, Direction direction)
    : collection_(std::move(collection)), direction_(direction) {
  open(transaction);
}

void PastScan::open(Transaction& transaction) {
  transaction_ = &transaction;
  rows_ = collection_->rows(transaction);
  table_.emplace(rows_->table->rows, rows_->table->order(), forward());
  newer_.emplace(rows_->newer.rows, rows_->newer.order(), forward());
  placed_ = false;
  current_.emplace(collection_->records().cursor(transaction, direction_));
  kept_.emplace(collection_->records(), transaction);
  if (after_ != 0)
    stand_after(after_);
  else
    settle_saved();
}

// No row is in both tables.
void PastScan::settle_saved() {
  for (storage::InterruptibleLoop loop;; loop.pass()) {
    const auto &old = table_->at(), &newer = newer_->at();
    if (!old && !newer) return saved_.reset();
    const bool from_newer = !old || (newer && (newer->row < old->row) == forward());
    saved_ = from_newer ? newer : old;
    if (collection_->shows_saved(*saved_)) return;
    (from_newer ? newer_ : table_)->step();
  }
}

void PastScan::pass_saved() {
  const bool from_newer = newer_->at() && newer_->at()->row == saved_->row;
  (from_newer ? newer_ : table_)->step();
  settle_saved();
}

void PastScan::stand_after(RecordId id) {
  current_->seek_after(id);
  placed_ = false;
  after_ = id;
  table_->seek_after(id);
  newer_->seek_after(id);
  settle_saved();
}

void PastScan::seek(RecordId id) {
  if (forward() ? id > storage::record_id_min : id < storage::record_id_max) stand_after(forward() ? id - 1 : id + 1);
}

// If only a few records were passed over meanwhile, it steps over them instead of seeking.
void PastScan::step_current() {
  constexpr int passed_max = 8;
  on_current_ = current_->next();
  for (int i = 0; on_current_ && passed(current_->id()); ++i) {
    if (i == passed_max) current_->seek_after(after_);
    on_current_ = current_->next();
  }
  const auto shows = [&] {
    return current_->generation_not_after(collection_->snapshot()) && collection_->may_show(current_->id());
  };
  for (storage::InterruptibleLoop loop; on_current_ && !shows(); loop.pass()) on_current_ = current_->next();
  placed_ = true;
}

// No current record lies between two with consecutive ids: if all records were written since the snapshot, none of the current
// ones is read.
bool PastScan::takes_saved() const {
  return saved_ && saved_->row == after_ + (forward() ? 1 : -1);
}

bool PastScan::next() {
  bool saved = takes_saved(), current = false;
  if (!saved) {
    if (!placed_) step_current();
    if (!on_current_ && !saved_) return false;
    // If both have the record, the transaction doesn't see yet that the content left its row.
    const bool both = on_current_ && saved_ && saved_->row == current_->id();
    current = both || !saved_ || (on_current_ && (saved_->row > current_->id()) == forward());
    saved = !current || both;
  }
  has_content_ = false;
  if (saved) {
    record_ = saved_->row;
    then_ = saved_->content;
    pass_saved();
  }
  if (current) {
    record_ = current_->id();
    then_.reset();
    placed_ = false;
  }
  after_ = record_;
  return true;
}

// The transaction that made the page table may have seen the content leave its row, and this one may not see it yet.
void PastScan::read_saved(const Mapping& saved) {
  Past& past = collection_->past();
  const Stamp snapshot = collection_->snapshot();
  if (past.find_content(*transaction_, *kept_, collection_->id(), saved, snapshot, content_, &info_)) return;
  if (collection_->records().find_not_after(*transaction_, saved.row, snapshot, content_, &info_)) return;
  past.read_content(*transaction_, *kept_, collection_->id(), saved, snapshot, content_, &info_);
}

bson::DocumentView PastScan::document() {
  if (!then_) return bson::DocumentView(current_->content_not_after(collection_->snapshot()));
  if (!has_content_) read_saved({record_, *then_});
  has_content_ = true;
  return bson::DocumentView(content_);
}

storage::ReadInfo PastScan::read_info() const {
  storage::ReadInfo all = current_ ? current_->info() : storage::ReadInfo{};
  all.hops += info_.hops;
  all.chain_bytes += info_.chain_bytes;
  return all;
}

void PastScan::save() {
  current_.reset();
  kept_.reset();
  table_.reset();
  newer_.reset();
  rows_.reset();
  info_ = {};
}

void PastScan::restore(Transaction& transaction) {
  if (collection_->dropped())
    throw base::OperationError(base::ErrorCode::query_plan_killed, "snapshot dropped: '" + collection_->ns() + "'");
  open(transaction);
}

// --- an index

PastIndexCursor::PastIndexCursor(std::shared_ptr<PastCollection> collection, std::shared_ptr<const storage::StoredIndex> index,
                                 Transaction& transaction, Direction direction)
    : collection_(std::move(collection)), index_(std::move(index)), direction_(direction), gone_(collection_->gone(*index_)) {
  open(transaction);
}

void PastIndexCursor::open(Transaction& transaction) {
  transaction_ = &transaction;
  current_ = index_->cursor(transaction, direction_);
  saved_.emplace(collection_->past().entries(), transaction, collection_->id(), index_->number(), direction_);
  shown_.reset();
}

void PastIndexCursor::seek(const storage::KeyRange& range) {
  range_ = range;
  current_->seek(range);
  saved_->seek(range);
  started_ = false;
  stepped_current_ = stepped_saved_ = false;
}

// A dropped index has no entries of later writes, so what the snapshot shows decides.
bool PastIndexCursor::holds(BytesView key, RecordId record) {
  const auto content = collection_->find(*transaction_, record, nullptr);
  if (!content) return false;
  storage::IndexKeys keys;
  index_->keys_of(content->view(), keys);
  return std::binary_search(keys.keys.begin(), keys.keys.end(), key);
}

bool PastIndexCursor::next_current() {
  for (storage::InterruptibleLoop loop; current_->next(); loop.pass()) {
    const RecordId record = current_->record();
    if (gone_) {
      if (collection_->may_show(record) && holds(current_->key(), record)) return true;
      continue;
    }
    if (collection_->shows_current(*transaction_, record, current_->key(), index_->is_id())) return true;
  }
  return false;
}

bool PastIndexCursor::next_saved() {
  for (storage::InterruptibleLoop loop; saved_->next(); loop.pass()) {
    const RecordId record = saved_->record();
    if (!collection_->may_show(record)) continue;
    if (index_->is_id()) {
      if (collection_->shows_as(*transaction_, record, saved_->key())) return true;
      continue;
    }
    // Entries of one record and key stand together, one for each generation that had the key.
    if (saved_->generation() > collection_->snapshot()) continue;
    if (!shown_ || shown_->first != record) shown_.emplace(record, collection_->generation(*transaction_, record).value_or(0));
    if (shown_->second == saved_->generation()) return true;
  }
  return false;
}

int PastIndexCursor::order(BytesView key, RecordId record, BytesView other_key, RecordId other) const {
  const int by_key = key.compare(other_key);
  const int order = by_key != 0 ? by_key : record < other ? -1 : record > other ? 1 : 0;
  return direction_ == Direction::forward ? order : -order;
}

bool PastIndexCursor::next() {
  for (storage::InterruptibleLoop loop;; loop.pass()) {
    if (!stepped_current_) on_current_ = next_current();
    if (!stepped_saved_) on_saved_ = next_saved();
    stepped_current_ = stepped_saved_ = true;
    if (!on_current_ && !on_saved_) return false;
    const bool current =
        on_current_ && (!on_saved_ || order(current_->key(), current_->record(), saved_->key(), saved_->record()) <= 0);
    const BytesView key = current ? current_->key() : saved_->key();
    const RecordId record = current ? current_->record() : saved_->record();
    (current ? stepped_current_ : stepped_saved_) = false;
    // Both sides may have the entry, and an entry that was given before the cursor was restored isn't given again.
    if (started_ && order(key_, record_, key, record) >= 0) continue;
    key_ = key;
    record_ = record;
    started_ = true;
    return true;
  }
}

void PastIndexCursor::save() {
  current_.reset();
  saved_.reset();
}

void PastIndexCursor::restore(Transaction& transaction) {
  if (collection_->dropped())
    throw base::OperationError(base::ErrorCode::query_plan_killed, "snapshot dropped: '" + collection_->ns() + "'");
  gone_ = collection_->gone(*index_);
  open(transaction);
  storage::KeyRange left = range_;
  if (started_ && direction_ == Direction::forward) left.from = key_;
  if (started_ && direction_ == Direction::backward) left.to = key_ + Bytes(17, '\xff');
  current_->seek(left);
  saved_->seek(left);
  stepped_current_ = stepped_saved_ = false;
}

}  // namespace versions::past
