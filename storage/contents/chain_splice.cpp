// This file splices dead contents out from under those that are based on them (dbDedup §5.1).
#include <algorithm>
#include <memory>

#include "storage/contents/chain_store.h"

namespace storage {

namespace {

constexpr size_t dependents_max = 512;
constexpr size_t row_bytes = 24;     // bytes of a row beside its instructions
constexpr size_t worth_bytes = 256;  // bytes that a splice may cost, since a shorter chain is worth them

struct Dependent {
  ChainKey key;
  Bytes bytes;
  ChainRow row;  // borrows from `bytes`
  Bytes content;
  Bytes delta;  // against its new base
};

}  // namespace

bool ChainStore::splice(Transaction& transaction, const ContentReader::Dead& what) {
  std::vector<ChainKey> dependents{what.dependent};
  const auto dead_bytes = tables_.chains.get(transaction, chain_key(what.dead));
  if (!dead_bytes) return false;
  const ChainRow dead = parse_chain_row(*dead_bytes, what.dead).or_throw();
  if (dead.form == ChainRow::Form::raw) {
    // The other dependents are mostly in the same chain; the sweep finds those that aren't.
    if (dead.references > dependents_max) return false;
    dependents.clear();
    TableCursor cursor = tables_.chains.cursor(transaction);
    for (bool on = cursor.seek(chain_prefix(what.dead.chain)); on; on = cursor.next()) {
      const ChainKey key = parse_chain_key(cursor.key()).or_throw();
      if (key.chain != what.dead.chain) break;
      const ChainRow row = parse_chain_row(cursor.value(), key).or_throw();
      if (row.form == ChainRow::Form::delta && row.base == what.dead) dependents.push_back(key);
    }
  }
  return splice_out(transaction, what.dead, dependents);
}

bool ChainStore::splice_out(Transaction& transaction, const ChainKey& dead_key, const std::vector<ChainKey>& keys) {
  if (keys.size() > dependents_max) return false;
  const auto dead_bytes = tables_.chains.get(transaction, chain_key(dead_key));
  if (!dead_bytes) return false;
  const Bytes dead_copy(*dead_bytes);
  const ChainRow dead = parse_chain_row(dead_copy, dead_key).or_throw();
  if (!dead.garbage()) return false;

  std::vector<std::unique_ptr<Dependent>> dependents;
  for (const ChainKey& key : keys) {
    const auto bytes = tables_.chains.get(transaction, chain_key(key));
    if (!bytes) continue;
    auto dependent = std::make_unique<Dependent>(Dependent{key, Bytes(*bytes), {}, {}, {}});
    dependent->row = parse_chain_row(dependent->bytes, key).or_throw();
    if (dependent->row.form == ChainRow::Form::delta && dependent->row.base == dead_key)
      dependents.push_back(std::move(dependent));
  }
  if (dependents.empty()) return false;
  const bool all = dependents.size() == dead.references;
  const bool whole = dead.form == ChainRow::Form::raw;
  if (whole && !all) return false;
  std::sort(dependents.begin(), dependents.end(), [](const auto& a, const auto& b) { return a->key.content < b->key.content; });

  std::unique_ptr<Dependent> top;  // takes the place of a dead content that is whole
  if (whole) {
    top = std::move(dependents.back());
    dependents.pop_back();
    top->content = read_chain(transaction, top->key);
  }
  const ChainKey base = whole ? top->key : dead.base;
  const Bytes base_read = whole ? Bytes() : read_chain(transaction, base);
  const BytesView base_content = whole ? BytesView(top->content) : BytesView(base_read);

  int64_t growth = whole ? static_cast<int64_t>(top->content.size()) - static_cast<int64_t>(top->row.payload.size()) : 0;
  if (all) growth -= static_cast<int64_t>(dead.payload.size() + row_bytes);
  for (auto& dependent : dependents) {
    dependent->content = read_chain(transaction, dependent->key);
    dedup::DeltaOptions options;
    options.literal_bytes_max = dependent->content.size();
    auto delta = dedup::encode(base_content, dependent->content, options);
    if (!delta || !dedup::makes(base_content, *delta, dependent->content)) return false;
    growth += static_cast<int64_t>(delta->size()) - static_cast<int64_t>(dependent->row.payload.size());
    dependent->delta = std::move(*delta);
  }
  // The dead content may be what the dependents have in common; then it saves more than it costs.
  if (growth > static_cast<int64_t>(worth_bytes)) return false;

  StoreCounts change;
  for (auto& dependent : dependents) {
    dependent->row.base = base;
    dependent->row.choice = dedup::Choice::given;
    dependent->row.payload = dependent->delta;
    put_chain(transaction, dependent->key, dependent->row, change);
    if (!whole) {
      add_reference(transaction, base, {}, change);
      drop_reference(transaction, dead_key, change);
    }
  }
  if (whole) {
    remove_chain(transaction, dead_key, change);
    stand_whole(transaction, top->key, top->row, top->content, top->row.references + dependents.size(), change);
  }
  counters_.add_after_commit(transaction, change);
  return true;
}

// Makes a delta's content whole: in its record's row, or in the chain when the content is dead.
void ChainStore::stand_whole(Transaction& transaction, const ChainKey& key, const ChainRow& row, BytesView content,
                             uint64_t references, StoreCounts& change) const {
  if (row.dead) {
    return put_chain(transaction, key,
                     {.form = ChainRow::Form::raw,
                      .dead = true,
                      .kept = row.kept,
                      .references = references,
                      .length = row.length,
                      .checksum = row.checksum,
                      .base = {},
                      .payload = content},
                     change);
  }
  const RecordId record = key.content.record;
  const auto place = find_row(tables_, transaction, record);
  if (!place || place->row.form != RecordRow::Form::stub || place->row.generation != key.content.generation) {
    throw_damaged(tables_, record, "its row does not lead to its content");
  }
  const Table& table = *place->table;
  const Bytes whole = raw_row(key.content.generation, row.checksum, content, place->row.past);
  remove_chain(transaction, key, change);
  put_row(transaction, table, record, whole);
  if (references > 0) {
    put_head(transaction, record, {key.chain, 0, references}, true, change);
  } else {
    claim_head(transaction, record);
  }
  --change.stubs;
  change.raw_bytes += static_cast<int64_t>(content.size());
}

}  // namespace storage
