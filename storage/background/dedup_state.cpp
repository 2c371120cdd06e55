#include "storage/background/dedup_state.h"

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "storage/engine/internals.h"
#include "storage/engine/readable_rows.h"

namespace storage {

using base::append_le;
using base::append_varint;
using base::take_varint;

namespace {

constexpr char version = 1;
constexpr char collection_version = 2;
constexpr BytesView run_key = "r";

void append_be32(Bytes& out, uint32_t value) {
  append_le(out, __builtin_bswap32(value));
}
uint32_t load_be32(const char* from) {
  return __builtin_bswap32(base::load_le<uint32_t>(from));
}

Bytes collection_key(CollectionId collection) {
  Bytes key(1, 'c');
  append_be32(key, collection);
  return key;
}

}  // namespace

Bytes write_state(const CollectionState& state) {
  Bytes row(1, collection_version);
  append_varint(row, static_cast<uint64_t>(state.encoded));
  append_varint(row, state.missed_from + 1);  // 0 means that nothing was missed.
  append_varint(row, state.seen);
  return row + write_counts(state.counts);
}

std::optional<CollectionState> read_collection_state(BytesView row) {
  if (row.empty() || row[0] != collection_version) return std::nullopt;
  row.remove_prefix(1);
  const auto encoded = take_varint(row);
  const auto missed_from = encoded ? take_varint(row) : std::nullopt;
  const auto seen = missed_from ? take_varint(row) : std::nullopt;
  const auto counts = seen ? read_counts(row) : std::nullopt;
  if (!counts || *encoded > INT64_MAX) return std::nullopt;
  return CollectionState{static_cast<RecordId>(*encoded), *missed_from - 1, *seen, *counts};
}

Bytes write_state(const DatabaseState& state) {
  Bytes row(1, version);
  append_varint(row, state.number);
  append_le(row, state.seed);
  return row;
}

std::optional<DatabaseState> read_database_state(BytesView row) {
  if (row.empty() || row[0] != version) return std::nullopt;
  row.remove_prefix(1);
  const auto number = take_varint(row);
  if (!number || *number > UINT32_MAX || row.size() != 8) return std::nullopt;
  return DatabaseState{static_cast<uint32_t>(*number), base::load_le<uint64_t>(row.data())};
}

namespace {

constexpr int log_made_anew = 7200507;

void renew(Engine& engine, const Table& table) {
  base::log(base::Severity::warning, base::LogComponent::storage, log_made_anew,
            "A table of dedup is damaged and is made anew; contents may be encoded once more",
            base::Attributes().add("table", table.name()));
  engine.internals().tables.make_empty(table.name());
}

}  // namespace

DedupState::DedupState(Engine& engine) : engine_(engine), table_(engine.open_table("dedup_state", {.allocation_bytes = 512})) {
  if (can_be_read(engine, table_)) return;
  renew(engine, table_);
  // The pages of features are found through the databases' numbers.
  renew(engine, MetadataPages::open_table(engine));
}

std::optional<CollectionState> DedupState::collection(CollectionId collection) const {
  Transaction transaction(engine_, Transaction::Mode::read);
  const auto row = table_.get(transaction, collection_key(collection));
  return row ? read_collection_state(*row) : std::nullopt;
}

void DedupState::put(Transaction& transaction, CollectionId collection, const CollectionState& state) const {
  table_.put(transaction, collection_key(collection), write_state(state));
}

void DedupState::remove(Transaction& transaction, CollectionId collection) const {
  table_.remove(transaction, collection_key(collection));
}

bool DedupState::begin_run() const {
  return in_transaction(engine_, [&](Transaction& transaction) {
    const bool unfinished = table_.get(transaction, run_key).has_value();
    if (!unfinished) table_.put(transaction, run_key, BytesView());
    return unfinished;
  });
}

void DedupState::end_run() const {
  in_transaction(engine_, [&](Transaction& transaction) { table_.remove(transaction, run_key); });
}

DatabaseState DedupState::database(const std::string& name) const {
  const Bytes key = "d" + name;
  return in_transaction(engine_, [&](Transaction& transaction) {
    uint32_t number = 1;
    {
      TableCursor cursor = table_.cursor(transaction);
      for (bool on = cursor.seek("d"); on && cursor.key().starts_with('d'); on = cursor.next()) {
        const auto state = read_database_state(cursor.value());
        if (!state) continue;
        if (cursor.key() == key) return *state;
        number = std::max(number, state->number + 1);
      }
    }
    const DatabaseState made{number, base::entropy64()};
    table_.put(transaction, key, write_state(made));
    return made;
  });
}

// --- metadata pages

Table MetadataPages::open_table(Engine& engine) {
  return engine.open_table("feature_metadata", {.leaf_page_bytes = 64 << 10, .allocation_bytes = 512});
}

void MetadataPages::check_table(Engine& engine, const Table& table) {
  if (!can_be_read(engine, table)) renew(engine, table);
}

Bytes MetadataPages::key(uint32_t page) const {
  Bytes key;
  append_be32(key, database_);
  append_be32(key, page);
  return key;
}

std::optional<Bytes> MetadataPages::read_page(uint32_t page) {
  if (const auto changed = changes_.find(page); changed != changes_.end()) return changed->second;
  try {
    Transaction transaction(engine_, Transaction::Mode::read);
    const auto bytes = table_.get(transaction, key(page));
    return bytes ? std::optional<Bytes>(*bytes) : std::nullopt;
  } catch (const base::OperationError& damage) {
    if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
    return std::nullopt;  // the log names the damaged page, and the next start makes the table anew
  }
}

void MetadataPages::write_page(uint32_t page, BytesView bytes) {
  changes_[page] = Bytes(bytes);
}
void MetadataPages::erase_page(uint32_t page) {
  changes_[page] = std::nullopt;
}

std::vector<uint32_t> MetadataPages::pages() {
  std::map<uint32_t, bool> found;
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    TableCursor cursor = table_.cursor(transaction);
    const Bytes first = key(0);
    for (bool on = cursor.seek(first); on; on = cursor.next()) {
      const BytesView at = cursor.key();
      if (at.size() != 8 || at.substr(0, 4) != BytesView(first).substr(0, 4)) break;
      found[load_be32(at.data() + 4)] = true;
    }
  }
  for (const auto& [page, bytes] : changes_) found[page] = bytes.has_value();
  std::vector<uint32_t> pages;
  for (const auto& [page, there] : found) {
    if (there) pages.push_back(page);
  }
  return pages;
}

void MetadataPages::write(Transaction& transaction) {
  for (const auto& [page, bytes] : changes_) {
    if (bytes) {
      table_.put(transaction, key(page), *bytes);
    } else {
      table_.remove(transaction, key(page));
    }
  }
}

}  // namespace storage
