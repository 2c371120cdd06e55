#include "storage/indexes/stored_index.h"

#include <algorithm>

#include "bson/builder.h"
#include "bson/json.h"
#include "storage/engine/engine.h"
#include "storage/engine/touch.h"
#include "storage/indexes/duplicate_key.h"
#include "storage/indexes/entry_types.h"
#include "storage/indexes/index_options.h"

namespace storage {
namespace {

constexpr size_t record_id_bytes = 8;

Bytes entry_key(BytesView key, RecordId record) {
  Bytes entry;
  entry.reserve(key.size() + record_id_bytes);
  entry.append(key);
  base::append_be64(entry, static_cast<uint64_t>(record));
  return entry;
}

class StoredIndexCursor final : public IndexCursor, public EntryTypes {
 public:
  // If `versions` is set, every row is an entry of a version, whatever its value is.
  StoredIndexCursor(std::shared_ptr<const StoredIndex> index, Transaction& transaction, const Table& table, Direction direction,
                    bool versions)
      : index_(std::move(index)), table_(table), direction_(direction), versions_(versions) {
    rows_.emplace(table_.cursor(transaction));
  }

  void seek(const KeyRange& range) override {
    range_ = range;
    state_ = State::before;
  }

  bool next() override {
    bool on = false;
    switch (state_) {
      case State::before: on = start(); break;
      case State::on: on = step(); break;
      case State::landed: on = true; break;
      case State::done: return false;
    }
    state_ = on && in_range() ? State::on : State::done;
    return state_ == State::on;
  }

  RecordId record() const override {
    if (stands_alone()) return record_from_key(rows_->value());
    const BytesView key = rows_->key();
    if (key.size() < record_id_bytes) return 0;  // the entry is damaged and belongs to no record; validate reports it
    return static_cast<RecordId>(base::load_be64(key.data() + key.size() - record_id_bytes));
  }

  BytesView key() const override {
    BytesView key = rows_->key();
    if (!stands_alone()) key.remove_suffix(std::min(key.size(), record_id_bytes));
    return key;
  }

  std::optional<BytesView> types() const override {
    if (!index_->tells_types()) return std::nullopt;
    BytesView types = rows_->value();
    if (stands_alone())
      types.remove_prefix(std::min<size_t>(types.size(), types.empty() ? 0 : 1 + static_cast<uint8_t>(types[0])));
    return types;
  }

  void save() override {
    if (state_ == State::on || state_ == State::landed) place_ = rows_->key();
    rows_.reset();
  }

  void restore(Transaction& transaction) override {
    if (index_->dropped())
      throw base::OperationError(base::ErrorCode::query_plan_killed, "index '" + index_->spec().name + "' dropped");
    if (index_->shared())
      throw base::OperationError(base::ErrorCode::query_plan_killed, "the first branch of the database was made");
    rows_.emplace(table_.cursor(transaction));
    if (state_ != State::on && state_ != State::landed) return;
    const bool on = direction_ == Direction::forward ? rows_->seek(place_) : rows_->seek_back(place_);
    if (!on) {
      state_ = State::done;
    } else {
      // The remembered entry was returned already, unless the cursor had only landed on it.
      const bool same = rows_->key() == place_;
      state_ = same && state_ == State::on ? State::on : State::landed;
    }
  }

 private:
  enum class State { before, on, landed, done };  // landed means that next() will return the row that the cursor stands on

  bool start() {
    if (direction_ == Direction::forward) return range_.from.empty() ? (rows_->reset(), rows_->next()) : rows_->seek(range_.from);
    if (range_.to.empty()) return rows_->reset(), rows_->previous();
    if (!rows_->seek_back(range_.to)) return false;
    return rows_->key() < range_.to || rows_->previous();
  }
  // Returns whether the row's key is the whole key and its value names the record.
  bool stands_alone() const { return index_->spec().unique && !versions_ && (!index_->shared() || !rows_->value().empty()); }
  bool step() { return direction_ == Direction::forward ? rows_->next() : rows_->previous(); }
  bool in_range() const {
    return direction_ == Direction::forward ? range_.to.empty() || rows_->key() < range_.to : rows_->key() >= range_.from;
  }

  std::shared_ptr<const StoredIndex> index_;
  const Table& table_;  // this is the table of the index
  const Direction direction_;
  const bool versions_;
  std::optional<TableCursor> rows_;
  KeyRange range_;
  State state_ = State::before;
  Bytes place_;
};

// This cursor walks two tables of one index as one. It lives within one transaction.
class TwoTableCursor final : public IndexCursor {
 public:
  TwoTableCursor(std::unique_ptr<IndexCursor> a, std::unique_ptr<IndexCursor> b, Direction direction)
      : sides_{std::move(a), std::move(b)}, forward_(direction == Direction::forward) {}

  void seek(const KeyRange& range) override {
    for (auto& side : sides_) side->seek(range);
    at_ = -1;
  }

  bool next() override {
    if (at_ < 0) {
      for (size_t i = 0; i < 2; ++i) on_[i] = sides_[i]->next();
    } else if (on_[at_]) {
      on_[at_] = sides_[at_]->next();
    }
    if (on_[0] && on_[1]) {
      at_ = (sides_[0]->key() <= sides_[1]->key()) == forward_ ? 0 : 1;
    } else {
      at_ = on_[1] ? 1 : 0;
    }
    return on_[at_];
  }

  RecordId record() const override { return sides_[at_]->record(); }
  BytesView key() const override { return sides_[at_]->key(); }

  void save() override {
    for (auto& side : sides_) side->save();
  }
  void restore(Transaction& transaction) override {
    for (auto& side : sides_) side->restore(transaction);
  }

 private:
  std::unique_ptr<IndexCursor> sides_[2];
  const bool forward_;
  bool on_[2] = {false, false};
  int at_ = -1;  // this side stands on the current entry; -1 means before the first
};

// Shows the strings of a key by their sort keys, as MongoDB does.
bson::Document shown_collated(bson::DocumentView values, const bson::Collator& collator) {
  bson::Builder out;
  for (const bson::Element& value : values) {
    if (!value.is_string()) {
      out.append_element(value);
      continue;
    }
    Bytes key;
    collator.append_key(key, value.as_string());
    out.append(value.name, "0x" + base::to_hex(key));
  }
  return out.done();
}

}  // namespace

std::string index_table_name(CollectionId collection, uint32_t number) {
  return "index-" + std::to_string(collection) + "-" + std::to_string(number);
}

StoredIndex::StoredIndex(Engine& engine, uint32_t number, IndexSpec spec, Table table, bool ready)
    : engine_(engine), number_(number), since_ms_(engine.clock().wall_ms()), ready_(ready) {
  spec_ = std::move(spec);
  table_ = std::move(table);
  prepares_unique_ = storage::prepares_unique(spec_);
  is_id_ = spec_.name == "_id_" || spec_.document.view().has("clustered");
}

IndexStats StoredIndex::stats() const {
  return {
      .bytes = engine_.file_bytes(table_.name()), .accesses = accesses_.load(std::memory_order_relaxed), .since_ms = since_ms_};
}

void StoredIndex::keys_of(bson::DocumentView document, IndexKeys& out, KeyLimits limits) const {
  if (partial()) {
    if (!predicate_)
      throw base::OperationError(base::ErrorCode::internal_error,
                                 "the filter of partial index " + spec_.name + " is not compiled");
    if (!predicate_->matches(document)) {
      out.clear();
      return;
    }
  }
  index_keys(spec_, document, out, limits);
}

bool StoredIndex::insert(Transaction& transaction, BytesView key, RecordId record, BytesView types) const {
  if (!spec_.unique) {
    table_.put(transaction, entry_key(key, record), tells_types_ ? types : BytesView());
    return true;
  }
  Bytes value = record_key(record);
  if (tells_types_) value.append(types);
  return table_.insert(transaction, key, value);
}

void StoredIndex::retype(Transaction& transaction, BytesView key, RecordId record, BytesView types) const {
  if (!tells_types_) return;
  if (!spec_.unique) return table_.put(transaction, entry_key(key, record), types);
  table_.put(transaction, key, record_key(record) + Bytes(types));
}

void StoredIndex::remove(Transaction& transaction, BytesView key, RecordId record) const {
  if (spec_.unique) {
    table_.remove(transaction, key);
  } else {
    table_.remove(transaction, entry_key(key, record));
  }
}

bool StoredIndex::has(Transaction& transaction, BytesView key, RecordId record) const {
  if (spec_.unique && find(transaction, key) == record) return true;
  const Table& versions = versions_.exists() ? versions_ : table_;
  return versions.get(transaction, entry_key(key, record)).has_value();
}

std::optional<Bytes> StoredIndex::types(Transaction& transaction, BytesView key, RecordId record) const {
  if (!tells_types()) return std::nullopt;
  const auto value = spec_.unique ? table_.get(transaction, key) : table_.get(transaction, entry_key(key, record));
  if (!value || (spec_.unique && record_from_key(*value) != record)) return std::nullopt;
  return Bytes(spec_.unique ? value->substr(record_key(record).size()) : *value);
}

std::optional<RecordId> StoredIndex::find(Transaction& transaction, BytesView key) const {
  const auto value = table_.get(transaction, key);
  return value ? std::optional(record_from_key(*value)) : std::nullopt;
}

std::unique_ptr<IndexCursor> StoredIndex::cursor(Transaction& transaction, Direction direction) const {
  auto own = std::make_unique<StoredIndexCursor>(shared_from_this(), transaction, table_, direction, false);
  if (!versions_.exists()) return own;
  auto versions = std::make_unique<StoredIndexCursor>(shared_from_this(), transaction, versions_, direction, true);
  return std::make_unique<TwoTableCursor>(std::move(own), std::move(versions), direction);
}

void StoredIndex::go_on_from(const StoredIndex& before) {
  multikey_paths_.add(before.multikey_paths_);
  add_multikey_fields(before.multikey_fields());
  set_versions(before.versions_);
  if (before.shared()) set_shared();
  tells_types_ = before.tells_types_;
}

void StoredIndex::add_version(Transaction& transaction, BytesView key, RecordId record) const {
  table_.put(transaction, entry_key(key, record), {});
}

void StoredIndex::remove_version(Transaction& transaction, BytesView key, RecordId record) const {
  table_.remove(transaction, entry_key(key, record));
}

void StoredIndex::each_version(Transaction& transaction, BytesView key, const std::function<bool(RecordId)>& each) const {
  TableCursor cursor = table_.cursor(transaction);
  for (bool on = cursor.seek(key); on; on = cursor.next()) {
    const BytesView at = cursor.key();
    if (!at.starts_with(key)) return;
    const bool alone = at.size() == key.size();
    if (!alone && at.size() != key.size() + record_id_bytes) return;  // no key string is the beginning of another
    const RecordId record =
        alone ? record_from_key(cursor.value()) : static_cast<RecordId>(base::load_be64(at.data() + key.size()));
    if (!each(record)) return;
  }
}

void StoredIndex::claim(Transaction& transaction, BytesView key) const {
  touch(transaction, table_, key);
}

void StoredIndex::claim(Transaction& transaction, BytesView key, uint32_t who) const {
  // No record has such an id, because the highest bit of a record id is not set.
  touch(transaction, table_, entry_key(key, static_cast<RecordId>(uint64_t{1} << 63 | who)));
}

void StoredIndex::duplicate(const std::string& ns, bson::DocumentView document, BytesView key) const {
  bson::Document values = index_key_values(spec_, document, key);
  bson::Document collation;
  std::string message = "E11000 duplicate key error collection: " + ns;
  if (!spec_.document.view().has("clustered")) message += " index: " + spec_.name;
  if (spec_.collator) {
    values = shown_collated(values, *spec_.collator);
    collation = bson::Document(spec_.collator->specification());
    message += " collation: " + bson::to_shell(collation);
  }
  message += " dup key: " + bson::to_shell(values);
  throw DuplicateKey(message, spec_.key, std::move(values), std::move(collation));
}

}  // namespace storage
