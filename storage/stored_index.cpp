#include "storage/stored_index.h"

#include <algorithm>

#include "base/clock.h"
#include "bson/json.h"
#include "storage/duplicate_key.h"
#include "storage/engine.h"

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

class StoredIndexCursor final : public IndexCursor {
 public:
  StoredIndexCursor(std::shared_ptr<const StoredIndex> index, Transaction& transaction, Direction direction)
      : index_(std::move(index)), direction_(direction) {
    rows_.emplace(index_->table().cursor(transaction));
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
    if (index_->spec().unique) return record_from_key(rows_->value());
    const BytesView key = rows_->key();
    if (key.size() < record_id_bytes) return 0;  // damaged: nobody's, as validate will say
    return static_cast<RecordId>(base::load_be64(key.data() + key.size() - record_id_bytes));
  }

  BytesView key() const override {
    BytesView key = rows_->key();
    if (!index_->spec().unique) key.remove_suffix(std::min(key.size(), record_id_bytes));
    return key;
  }

  void save() override {
    if (state_ == State::on || state_ == State::landed) place_ = rows_->key();
    rows_.reset();
  }

  void restore(Transaction& transaction) override {
    if (index_->dropped()) throw base::OperationError(base::ErrorCode::query_plan_killed, "index '" + index_->spec().name + "' dropped");
    rows_.emplace(index_->table().cursor(transaction));
    if (state_ != State::on && state_ != State::landed) return;
    const bool on = direction_ == Direction::forward ? rows_->seek(place_) : rows_->seek_back(place_);
    if (!on) {
      state_ = State::done;
    } else {
      // The remembered entry was given out already, unless it had only been landed on.
      const bool same = rows_->key() == place_;
      state_ = same && state_ == State::on ? State::on : State::landed;
    }
  }

 private:
  enum class State { before, on, landed, done };  // landed: stands on the row that next() is to give

  bool start() {
    if (direction_ == Direction::forward) return range_.from.empty() ? (rows_->reset(), rows_->next()) : rows_->seek(range_.from);
    if (range_.to.empty()) return rows_->reset(), rows_->previous();
    if (!rows_->seek_back(range_.to)) return false;
    return rows_->key() < range_.to || rows_->previous();
  }
  bool step() { return direction_ == Direction::forward ? rows_->next() : rows_->previous(); }
  bool in_range() const {
    return direction_ == Direction::forward ? range_.to.empty() || rows_->key() < range_.to : rows_->key() >= range_.from;
  }

  std::shared_ptr<const StoredIndex> index_;
  const Direction direction_;
  std::optional<TableCursor> rows_;
  KeyRange range_;
  State state_ = State::before;
  Bytes place_;
};

}  // namespace

std::string index_table_name(CollectionId collection, uint32_t number) {
  return "index-" + std::to_string(collection) + "-" + std::to_string(number);
}

StoredIndex::StoredIndex(Engine& engine, uint32_t number, IndexSpec spec, Table table, bool ready)
    : engine_(engine), number_(number), since_ms_(base::system_clock().wall_ms()), ready_(ready) {
  spec_ = std::move(spec);
  table_ = std::move(table);
}

IndexStats StoredIndex::stats() const {
  return {.bytes = engine_.file_bytes(table_.name()), .accesses = accesses_.load(std::memory_order_relaxed), .since_ms = since_ms_};
}

void StoredIndex::keys_of(bson::DocumentView document, IndexKeys& out) const {
  if (partial()) {
    if (!predicate_) throw base::OperationError(base::ErrorCode::internal_error, "the filter of partial index " + spec_.name + " is not compiled");
    if (!predicate_->matches(document)) {
      out.keys.clear();
      out.multikey_fields = 0;
      return;
    }
  }
  index_keys(spec_, document, out);
}

bool StoredIndex::insert(Transaction& transaction, BytesView key, RecordId record) const {
  if (spec_.unique) return table_.insert(transaction, key, record_key(record));
  table_.put(transaction, entry_key(key, record), {});
  return true;
}

void StoredIndex::remove(Transaction& transaction, BytesView key, RecordId record) const {
  if (spec_.unique) {
    table_.remove(transaction, key);
  } else {
    table_.remove(transaction, entry_key(key, record));
  }
}

bool StoredIndex::has(Transaction& transaction, BytesView key, RecordId record) const {
  if (spec_.unique) return find(transaction, key) == record;
  return table_.get(transaction, entry_key(key, record)).has_value();
}

std::optional<RecordId> StoredIndex::find(Transaction& transaction, BytesView key) const {
  const auto value = table_.get(transaction, key);
  return value ? std::optional(record_from_key(*value)) : std::nullopt;
}

std::unique_ptr<IndexCursor> StoredIndex::cursor(Transaction& transaction, Direction direction) const {
  return std::make_unique<StoredIndexCursor>(shared_from_this(), transaction, direction);
}

void StoredIndex::duplicate(const std::string& ns, bson::DocumentView document, BytesView key) const {
  bson::Document values = index_key_values(spec_, document, key);
  const std::string message =
      "E11000 duplicate key error collection: " + ns + " index: " + spec_.name + " dup key: " + bson::to_shell(values);
  throw DuplicateKey(message, spec_.key, std::move(values));
}

}  // namespace storage
