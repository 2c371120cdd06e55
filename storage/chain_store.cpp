#include "storage/chain_store.h"

#include <memory>
#include <utility>

#include "base/hash.h"

namespace storage {

using base::ErrorCode;
using base::OperationError;

// What a record holds now. `head` for a raw row that has one, `chain_row` for a stub.
struct ChainStore::Current {
  const Table* table = nullptr;
  RecordRow::Form form = RecordRow::Form::raw;
  Stamp generation = 0;
  Bytes row_bytes;     // raw: the content
  uint32_t checksum = 0;
  std::optional<HeadRow> head;
  ChainKey key;        // stub
  ChainRow chain_row;  // stub
  std::unique_ptr<const Bytes> chain_bytes;  // stub: keeps chain_row.payload's bytes, which don't move when this does

  BytesView content() const { return row_bytes; }
  bool kept_behind() const { return head && head->kept_behind; }
  // By contents of other records, or of this one where nobody knows that the past keeps them.
  bool is_base() const { return references() > (kept_behind() ? 1 : 0); }
  uint64_t references() const { return form == RecordRow::Form::stub ? chain_row.references : head ? head->references : 0; }
  // Where it lies, or would once it leaves its record's row.
  RecordId chain(RecordId record) const { return form == RecordRow::Form::stub ? key.chain : head ? head->chain : record; }
};

namespace {

constexpr uint64_t worth_percent = 60;  // a retained content is kept as a delta below this share of its length
constexpr uint32_t versions_max = 4;    // of one record kept after the other: then one stays whole, so that none is far from one that is

}  // namespace

std::optional<ChainStore::Current> ChainStore::current(Transaction& transaction, RecordId record) const {
  const auto place = find_row(tables_, transaction, record, record < packed_below());
  if (!place) return std::nullopt;
  Current now;
  now.table = place->table;
  now.form = place->row.form;
  now.generation = place->row.generation;
  if (now.form == RecordRow::Form::raw) {
    now.row_bytes = Bytes(place->row.content);
    now.checksum = place->row.checksum;
    if (const auto head = tables_.heads.get(transaction, record_key(record))) now.head = parse_head_row(*head, record).or_throw();
    return now;
  }
  now.key = {place->row.chain, {record, now.generation}};
  const auto bytes = tables_.chains.get(transaction, chain_key(now.key));
  if (!bytes) throw_damaged(collection_, record, "its delta in chain " + std::to_string(now.key.chain) + " is missing");
  now.chain_bytes = std::make_unique<const Bytes>(*bytes);
  now.chain_row = parse_chain_row(*now.chain_bytes, now.key).or_throw();
  return now;
}

// --- rows

void ChainStore::put_row(Transaction& transaction, const Table& table, RecordId record, BytesView row) const {
  table.put(transaction, record_key(record), row);
}

// Writes the head row of a record that has none, and takes it away again: who
// would make it the base of something at the same time conflicts.
void ChainStore::claim_head(Transaction& transaction, RecordId record) const {
  const Bytes key = record_key(record);
  tables_.heads.put(transaction, key, head_row(record, {.chain = record}));
  tables_.heads.remove(transaction, key);
}

void ChainStore::put_head(Transaction& transaction, RecordId record, const HeadRow& head, bool is_new, StoreCounts& change) const {
  tables_.heads.put(transaction, record_key(record), head_row(record, head));
  change.heads += is_new;
}

void ChainStore::remove_head(Transaction& transaction, RecordId record, StoreCounts& change) const {
  if (tables_.heads.remove(transaction, record_key(record))) --change.heads;
}

namespace {

void count_row(StoreCounts& change, const ChainRow& row, size_t bytes, int sign) {
  change.chain_rows += sign;
  change.chain_bytes += sign * static_cast<int64_t>(bytes);
  if (sign > 0) change.unsettled_bytes += static_cast<int64_t>(bytes);
  if (row.garbage()) {
    change.dead += sign;
    change.dead_bytes += sign * static_cast<int64_t>(bytes);
  }
}

}  // namespace

void ChainStore::put_chain(Transaction& transaction, const ChainKey& key, const ChainRow& row, StoreCounts& change) const {
  const Bytes key_bytes = chain_key(key);
  const Bytes bytes = chain_row(key, row);  // first: `row` may borrow from what the next line reads over
  if (const auto before = tables_.chains.get(transaction, key_bytes)) {
    count_row(change, parse_chain_row(*before, key).or_throw(), before->size(), -1);
  }
  tables_.chains.put(transaction, key_bytes, bytes);
  count_row(change, row, bytes.size(), +1);
}

void ChainStore::add_chain(Transaction& transaction, const ChainKey& key, const ChainRow& row, StoreCounts& change) const {
  const Bytes bytes = chain_row(key, row);
  tables_.chains.put(transaction, chain_key(key), bytes);
  count_row(change, row, bytes.size(), +1);
}

void ChainStore::remove_chain(Transaction& transaction, const ChainKey& key, StoreCounts& change) const {
  const Bytes key_bytes = chain_key(key);
  if (const auto before = tables_.chains.get(transaction, key_bytes)) {
    count_row(change, parse_chain_row(*before, key).or_throw(), before->size(), -1);
    tables_.chains.remove(transaction, key_bytes);
  }
}

// --- references

void ChainStore::add_reference(Transaction& transaction, const ChainKey& base, const dedup::Placement& placement,
                               StoreCounts& change) const {
  if (const auto bytes = tables_.chains.get(transaction, chain_key(base))) {
    const Bytes copy(*bytes);
    ChainRow row = parse_chain_row(copy, base).or_throw();
    ++row.references;
    return put_chain(transaction, base, row, change);
  }
  const RecordId record = base.content.record;
  const auto bytes = tables_.heads.get(transaction, record_key(record));
  HeadRow head{base.chain, placement.ordinal, 0};
  if (bytes) head = parse_head_row(*bytes, record).or_throw();
  ++head.references;
  put_head(transaction, record, head, !bytes, change);
}

void ChainStore::drop_reference(Transaction& transaction, ChainKey base, StoreCounts& change) const {
  for (;;) {
    if (const auto bytes = tables_.chains.get(transaction, chain_key(base))) {
      const Bytes copy(*bytes);
      ChainRow row = parse_chain_row(copy, base).or_throw();
      if (row.references > 0) --row.references;
      if (row.references > 0 || !row.garbage()) return put_chain(transaction, base, row, change);
      remove_chain(transaction, base, change);
      if (row.form == ChainRow::Form::raw) return;
      base = row.base;
      continue;
    }
    const RecordId record = base.content.record;
    const auto bytes = tables_.heads.get(transaction, record_key(record));
    if (!bytes) return;  // damage that validate reports; nothing to count down
    HeadRow head = parse_head_row(*bytes, record).or_throw();
    if (head.references > 0) --head.references;
    if (head.references > 0) {
      put_head(transaction, record, head, false, change);
    } else {
      remove_head(transaction, record, change);
    }
    return;
  }
}

// --- reads

Bytes ChainStore::content_of(Transaction& transaction, RecordId record, const RecordRow& row, ReadInfo* info,
                             std::vector<ContentReader::Dead>* dead, ContentReader* reader) const {
  if (row.form == RecordRow::Form::raw) {
    if (base::checksum32(row.content) != row.checksum) throw_damaged(collection_, record, "its checksum does not hold");
    return Bytes(row.content);
  }
  std::optional<ContentReader> own;
  if (!reader) reader = &own.emplace(tables_, transaction, collection_);
  auto content = reader->read({row.chain, {record, row.generation}}, info);
  if (!content) {
    if (content.failure().code != ErrorCode::data_corruption_detected) throw OperationError(content.failure().code, content.failure().message);
    throw_damaged(collection_, record, content.failure().message);
  }
  if (dead && !reader->dead().empty()) *dead = reader->dead();
  return std::move(*content);
}

Bytes ChainStore::read_chain(Transaction& transaction, const ChainKey& key) const {
  ContentReader reader(tables_, transaction, collection_);
  auto content = reader.read(key);
  if (!content) throw_damaged(collection_, key.content.record, content.failure().message);
  return std::move(*content);
}

std::optional<Bytes> ChainStore::find(Transaction& transaction, const ContentName& name) const {
  const auto place = find_row(tables_, transaction, name.record, name.record < packed_below());
  if (!place) return std::nullopt;
  if (place->row.generation == name.generation) return content_of(transaction, name.record, place->row);
  RecordId chain = place->row.chain;
  if (place->row.form == RecordRow::Form::raw) {
    const auto bytes = tables_.heads.get(transaction, record_key(name.record));
    if (!bytes) return std::nullopt;
    chain = parse_head_row(*bytes, name.record).or_throw().chain;
  }
  return find_in(transaction, {chain, name});
}

std::optional<Bytes> ChainStore::find_in(Transaction& transaction, const ChainKey& key) const {
  ContentReader reader(tables_, transaction, collection_);
  return find_in(reader, key);
}

std::optional<Bytes> ChainStore::find_in(ContentReader& reader, const ChainKey& key, ReadInfo* info) const {
  auto content = reader.find(key, info);
  if (!content) return std::nullopt;
  if (!*content) throw_damaged(collection_, key.content.record, content->failure().message);
  return std::move(**content);
}

std::optional<dedup::Placement> ChainStore::placement(Transaction& transaction, const ContentName& name) const {
  const auto place = find_row(tables_, transaction, name.record, name.record < packed_below());
  if (!place || place->row.generation != name.generation || place->row.form != RecordRow::Form::raw) return std::nullopt;
  const auto bytes = tables_.heads.get(transaction, record_key(name.record));
  if (!bytes) return std::nullopt;
  const HeadRow head = parse_head_row(*bytes, name.record).or_throw();
  return dedup::Placement{head.chain, head.ordinal};
}

// --- what clients do

void ChainStore::insert(Transaction& transaction, RecordId record, BytesView content, Stamp generation) {
  tables_.records.put(transaction, record_key(record), raw_row(generation, base::checksum32(content), content));
  const auto bytes = static_cast<int64_t>(content.size());
  counters_.add_after_commit(transaction, {.records = 1, .logical_bytes = bytes, .raw_bytes = bytes});
}

// The old content of a stub, which nobody calls his own any more.
void ChainStore::let_go(Transaction& transaction, const Current& old, bool keep, StoreCounts& change) const {
  --change.stubs;
  if (keep || old.chain_row.references > 0) {
    ChainRow row = old.chain_row;
    row.dead = true;
    row.kept = keep;
    return put_chain(transaction, old.key, row, change);
  }
  remove_chain(transaction, old.key, change);
  if (old.chain_row.form == ChainRow::Form::delta) drop_reference(transaction, old.chain_row.base, change);
}

bool ChainStore::release(Transaction& transaction, const ChainKey& key) {
  const auto bytes = tables_.chains.get(transaction, chain_key(key));
  if (!bytes) return false;
  const Bytes copy(*bytes);
  ChainRow row = parse_chain_row(copy, key).or_throw();
  if (!row.kept) return false;
  row.kept = false;
  StoreCounts change;
  if (row.references > 0) {
    put_chain(transaction, key, row, change);
  } else {
    remove_chain(transaction, key, change);
    if (row.form == ChainRow::Form::delta) drop_reference(transaction, row.base, change);
  }
  counters_.add_after_commit(transaction, change);
  return true;
}

void ChainStore::forget_kept(Transaction& transaction, RecordId record) {
  const auto stored = tables_.heads.get(transaction, record_key(record));
  if (!stored) return;
  HeadRow head = parse_head_row(*stored, record).or_throw();
  if (!std::exchange(head.kept_behind, false)) return;
  tables_.heads.put(transaction, record_key(record), head_row(record, head));
}

void ChainStore::each_kept(Transaction& transaction, RecordId record, const std::function<bool(Stamp)>& visit) const {
  TableCursor cursor = tables_.chains.cursor(transaction);
  for (bool on = cursor.seek(chain_key({record, {record, 0}})); on; on = cursor.next()) {
    const ChainKey key = parse_chain_key(cursor.key()).or_throw();
    if (key.chain != record || key.content.record != record) return;
    if (parse_chain_row(cursor.value(), key).or_throw().kept && !visit(key.content.generation)) return;
  }
}

Superseded ChainStore::update(Transaction& transaction, RecordId record, BytesView content, Stamp generation, Stamp keep_to) {
  auto old = current(transaction, record);
  if (!old) throw OperationError(ErrorCode::no_such_key, "no record " + std::to_string(record));
  const bool keep = old->generation <= keep_to;
  Superseded before{old->generation, {}, keep ? old->chain(record) : 0, old->kept_behind(), old->is_base()};
  StoreCounts change;
  const auto bytes = static_cast<int64_t>(content.size());

  if (old->form == RecordRow::Form::stub) {
    before.bytes = read_chain(transaction, old->key);
    let_go(transaction, *old, keep, change);
    claim_head(transaction, record);
  } else {
    if (base::checksum32(old->content()) != old->checksum) throw_damaged(collection_, record, "its checksum does not hold");
    change.raw_bytes -= static_cast<int64_t>(old->content().size());
    if (keep || old->references() > 0) {
      // For those based on it and for the past, as a delta against what replaces it where that is shorter.
      const ContentName successor{record, generation};
      const ChainKey key{old->chain(record), {record, old->generation}};
      const uint32_t ordinal = old->head ? old->head->ordinal : 0;
      ChainRow row{.form = ChainRow::Form::raw, .dead = true, .kept = keep, .references = old->references(),
                   .length = old->content().size(), .checksum = old->checksum, .base = {}, .payload = old->content()};
      std::optional<Bytes> delta;
      if (successor > key.content && !(keep && ordinal % versions_max == versions_max - 1)) {
        dedup::DeltaOptions options;
        options.literal_bytes_max = old->content().size() * worth_percent / 100;
        delta = dedup::encode(content, old->content(), options);
      }
      if (delta && delta->size() * 100 <= old->content().size() * worth_percent) {
        row.form = ChainRow::Form::delta;
        row.base = {key.chain, successor};
        row.payload = *delta;
        add_chain(transaction, key, row, change);
        put_head(transaction, record, {key.chain, ordinal + 1, 1, keep || old->kept_behind()}, !old->head, change);
      } else {
        add_chain(transaction, key, row, change);
        if (old->head) remove_head(transaction, record, change); else claim_head(transaction, record);
      }
    } else if (old->head) {
      remove_head(transaction, record, change);
    } else {
      claim_head(transaction, record);
    }
    before.bytes = std::move(old->row_bytes);
  }
  // What changes is likely to change again: it moves to where that is cheap.
  if (old->table == &tables_.packed) tables_.packed.remove(transaction, record_key(record));
  put_row(transaction, tables_.records, record, raw_row(generation, base::checksum32(content), content));
  change.raw_bytes += bytes;
  change.logical_bytes += bytes - static_cast<int64_t>(before.bytes.size());
  counters_.add_after_commit(transaction, change);
  return before;
}

Superseded ChainStore::remove(Transaction& transaction, RecordId record, Stamp keep_to) {
  auto old = current(transaction, record);
  if (!old) throw OperationError(ErrorCode::no_such_key, "no record " + std::to_string(record));
  const bool keep = old->generation <= keep_to;
  Superseded before{old->generation, {}, keep ? old->chain(record) : 0, old->kept_behind(), old->is_base()};
  StoreCounts change;

  if (old->form == RecordRow::Form::stub) {
    before.bytes = read_chain(transaction, old->key);
    let_go(transaction, *old, keep, change);
  } else {
    if (keep || old->references() > 0) {
      add_chain(transaction, {old->chain(record), {record, old->generation}},
                {.form = ChainRow::Form::raw, .dead = true, .kept = keep, .references = old->references(), .length = old->content().size(),
                 .checksum = old->checksum, .base = {}, .payload = old->content()},
                change);
    }
    if (old->head) {
      remove_head(transaction, record, change);
    } else {
      claim_head(transaction, record);
    }
    change.raw_bytes -= static_cast<int64_t>(old->content().size());
    thinned(*old->table, change) += static_cast<int64_t>(old->content().size());
    before.bytes = std::move(old->row_bytes);
  }
  old->table->remove(transaction, record_key(record));
  change.records -= 1;
  change.logical_bytes -= static_cast<int64_t>(before.bytes.size());
  counters_.add_after_commit(transaction, change);
  return before;
}

// --- what happens in the background

WriteBackResult ChainStore::write_back(Transaction& transaction, const dedup::Backward& backward) {
  if (backward.target.collection != collection_ || !dedup::may_be_base(backward.base, backward.target)) return WriteBackResult::wrong;
  const ContentName target_name{backward.target.record, backward.target.generation};
  const ContentName base_name{backward.base.record, backward.base.generation};

  const auto base = current(transaction, base_name.record);
  if (!base || base->generation != base_name.generation) return WriteBackResult::stale;
  const auto target = current(transaction, target_name.record);
  if (!target || target->generation != target_name.generation) return WriteBackResult::stale;

  const bool target_raw = target->form == RecordRow::Form::raw;
  const bool base_raw = base->form == RecordRow::Form::raw;
  const RecordId target_chain = !target_raw ? target->key.chain : target->head ? target->head->chain : backward.target_placement.chain;
  const RecordId base_chain = !base_raw ? base->key.chain : base->head ? base->head->chain : backward.base_placement.chain;
  if (target_chain < record_id_min || base_chain < record_id_min) return WriteBackResult::wrong;
  const ChainKey target_key{target_chain, target_name};
  const ChainKey base_key{base_chain, base_name};

  const Bytes target_read = target_raw ? Bytes() : read_chain(transaction, target_key);
  const Bytes base_read = base_raw ? Bytes() : read_chain(transaction, base_key);
  const BytesView target_content = target_raw ? target->content() : BytesView(target_read);
  const BytesView base_content = base_raw ? base->content() : BytesView(base_read);
  const auto made = dedup::apply(base_content, backward.delta, {.output_bytes_max = target_content.size()});
  if (!made || made.value() != target_content) return WriteBackResult::wrong;

  const uint32_t checksum = target_raw ? target->checksum : target->chain_row.checksum;
  if (base::checksum32(target_content) != checksum) return WriteBackResult::wrong;  // damaged where it lies

  StoreCounts change;
  const ChainRow row{.form = ChainRow::Form::delta, .dead = false, .references = target->references(), .length = target_content.size(),
                     .checksum = checksum, .base = base_key, .choice = backward.choice, .payload = backward.delta};
  if (target_raw) {
    if (backward.delta.size() + 24 >= target_content.size()) return WriteBackResult::no_gain;
    const auto length = static_cast<int64_t>(target_content.size());
    put_row(transaction, *target->table, target_name.record, stub_row(target_name.record, target_name.generation, target_chain));
    if (target->head) {
      remove_head(transaction, target_name.record, change);
    } else {
      claim_head(transaction, target_name.record);
    }
    ++change.stubs;
    change.raw_bytes -= length;
    thinned(*target->table, change) += length;
  }
  put_chain(transaction, target_key, row, change);
  const bool same_base = !target_raw && target->chain_row.form == ChainRow::Form::delta && target->chain_row.base == base_key;
  if (!same_base) {
    // The new base first: the old one may lie on the way to it.
    add_reference(transaction, base_key, backward.base_placement, change);
    if (!target_raw && target->chain_row.form == ChainRow::Form::delta) drop_reference(transaction, target->chain_row.base, change);
  }
  counters_.add_after_commit(transaction, change);
  return WriteBackResult::written;
}

}  // namespace storage
