#include "storage/contents/chain_store.h"

#include <utility>

#include "base/hash.h"
#include "storage/contents/chain_current.h"
#include "storage/contents/short_delta.h"

namespace storage {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr uint64_t worth_percent = 60;  // a retained content is kept as a delta below this share of its length

}  // namespace

std::optional<ChainStore::Current> ChainStore::current(Transaction& transaction, RecordId record) const {
  const auto place = find_row(tables_, transaction, record, record < packed_below());
  if (!place) return std::nullopt;
  Current now;
  now.table = place->table;
  now.form = place->row.form;
  now.generation = place->row.generation;
  now.pre_states = place->row.past.pre_states;
  now.behind = place->row.past.behind;
  now.raw_bytes = static_cast<int64_t>(place->row.content.size() + now.pre_states.size());
  if (now.form == RecordRow::Form::raw) {
    now.content = place->row.content;
    now.checksum = place->row.checksum;
    if (const auto head = tables_.heads.get(transaction, record_key(record))) now.head = parse_head_row(*head, record).or_throw();
    return now;
  }
  now.key = {place->row.chain, {record, now.generation}};
  const auto bytes = tables_.chains.get(transaction, chain_key(now.key));
  if (!bytes) throw_damaged(tables_, record, "its delta in chain " + std::to_string(now.key.chain) + " is missing");
  now.chain_bytes = std::make_unique<const Bytes>(*bytes);
  now.chain_row = parse_chain_row(*now.chain_bytes, now.key).or_throw();
  return now;
}

// --- rows

void ChainStore::put_row(Transaction& transaction, const Table& table, RecordId record, BytesView row) const {
  table.put(transaction, record_key(record), row);
}

// Writes the head row of a record that has none, and removes it again: a transaction that makes the record a base at the same
// time conflicts.
void ChainStore::claim_head(Transaction& transaction, RecordId record) const {
  if (transaction.is_draft()) return;  // the background, with which this conflicts, waits for drafts
  const Bytes key = record_key(record);
  tables_.heads.put(transaction, key, head_row(record, {.chain = record}));
  tables_.heads.remove(transaction, key);
}

void ChainStore::put_head(Transaction& transaction, RecordId record, const HeadRow& head, bool is_new,
                          StoreCounts& change) const {
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
  const Bytes bytes = chain_row(key, row);  // comes first: `row` may borrow from what the next line overwrites
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

bool ChainStore::insert_chain(Transaction& transaction, const ChainKey& key, const ChainRow& row, StoreCounts& change) const {
  const Bytes bytes = chain_row(key, row);
  const bool is_new = tables_.chains.insert(transaction, chain_key(key), bytes);
  if (is_new) count_row(change, row, bytes.size(), +1);
  return is_new;
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
    if (!bytes) return;  // damage that validate reports; there is no count to reduce
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
    if (base::checksum32(row.content) != row.checksum) throw_damaged(tables_, record, "its checksum does not hold");
    return Bytes(row.content);
  }
  std::optional<ContentReader> own;
  if (!reader) {
    reader = &own.emplace(tables_, transaction, collection_);
    reader->use_hop_bases();
  }
  auto content = reader->read({row.chain, {record, row.generation}}, info);
  if (!content) {
    if (content.failure().code != ErrorCode::data_corruption_detected)
      throw OperationError(content.failure().code, content.failure().message);
    throw_damaged(tables_, record, content.failure().message);
  }
  if (dead && !reader->dead().empty()) *dead = reader->dead();
  return std::move(*content);
}

Bytes ChainStore::read_chain(Transaction& transaction, const ChainKey& key) const {
  ContentReader reader(tables_, transaction, collection_);
  auto content = reader.read(key);
  if (!content) throw_damaged(tables_, key.content.record, content.failure().message);
  return std::move(*content);
}

std::optional<Bytes> ChainStore::find(Transaction& transaction, const ContentName& name) const {
  const auto place = find_row(tables_, transaction, name.record, name.record < packed_below());
  if (!place) return std::nullopt;
  if (place->row.generation == name.generation) return content_of(transaction, name.record, place->row);
  if (!place->row.past.pre_states.empty()) {
    Bytes content;
    if (pre_state_not_after(name.record, place->row, name.generation) == name.generation) {
      read_pre_state(transaction, name.record, place->row, name.generation, content);
      return content;
    }
  }
  RecordId chain = place->row.form == RecordRow::Form::stub ? place->row.chain : name.record;
  if (place->row.form == RecordRow::Form::raw) {
    if (const auto bytes = tables_.heads.get(transaction, record_key(name.record)))
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
  if (!*content) throw_damaged(tables_, key.content.record, content->failure().message);
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

// --- Clients cause these calls.

void ChainStore::insert(Transaction& transaction, RecordId record, BytesView content, Stamp generation) {
  tables_.records.put(transaction, record_key(record), raw_row(generation, base::checksum32(content), content));
  const auto bytes = static_cast<int64_t>(content.size());
  counters_.add_after_commit(transaction, {.records = 1, .logical_bytes = bytes, .raw_bytes = bytes});
}

// Removes or keeps the old content of a stub, which is no record's current content any more.
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

Superseded ChainStore::update(Transaction& transaction, RecordId record, BytesView content, Stamp generation, Keep keep) {
  auto old = current(transaction, record);
  if (!old) throw OperationError(ErrorCode::no_such_key, "no record " + std::to_string(record));
  Superseded before = take_old(transaction, record, *old);
  StoreCounts change;
  const Turn turn = turn_over(record, *old, &content, generation, keep, before);

  if (old->form == RecordRow::Form::stub) {
    let_go(transaction, *old, turn.in_place, change);
    claim_head(transaction, record);
  } else {
    const bool base_now = old->references() > 0 && replace_base(transaction, record, *old, before, content, generation, change);
    if (!base_now) leave_head(transaction, record, *old, change);
  }
  put_group(transaction, record, turn, before, change);
  // A record that changes is likely to change again, so it moves to the table where changes are cheap.
  if (old->table == &tables_.packed) tables_.packed.remove(transaction, record_key(record));
  put_row(transaction, tables_.records, record, raw_row(generation, base::checksum32(content), content, turn.past()));
  const auto bytes = static_cast<int64_t>(content.size());
  change.raw_bytes += bytes + static_cast<int64_t>(turn.in_row.size()) - old->raw_bytes;
  change.logical_bytes += bytes - static_cast<int64_t>(before.bytes.size());
  counters_.add_after_commit(transaction, change);
  return before;
}

Superseded ChainStore::remove(Transaction& transaction, RecordId record, Keep keep) {
  auto old = current(transaction, record);
  if (!old) throw OperationError(ErrorCode::no_such_key, "no record " + std::to_string(record));
  Superseded before = take_old(transaction, record, *old);
  StoreCounts change;
  const Turn turn = turn_over(record, *old, nullptr, 0, keep, before);
  before.removed = before.left_from != 0 || old->behind;

  if (old->form == RecordRow::Form::stub) {
    let_go(transaction, *old, turn.in_place, change);
  } else {
    if (old->references() > 0)
      add_chain(transaction, {old->chain(record), {record, old->generation}}, old_row(*old, before), change);
    leave_head(transaction, record, *old, change);
    thinned(*old->table, change) += static_cast<int64_t>(before.bytes.size());
  }
  put_group(transaction, record, turn, before, change);
  old->table->remove(transaction, record_key(record));
  change.raw_bytes -= old->raw_bytes;
  change.records -= 1;
  change.logical_bytes -= static_cast<int64_t>(before.bytes.size());
  counters_.add_after_commit(transaction, change);
  return before;
}

// Reads the content that is about to be replaced or removed.
Superseded ChainStore::take_old(Transaction& transaction, RecordId record, Current& old) const {
  Superseded before;
  before.generation = old.generation;
  before.is_base = old.references() > 0;
  if (old.form == RecordRow::Form::stub) {
    before.bytes = read_chain(transaction, old.key);
    return before;
  }
  if (base::checksum32(old.content) != old.checksum) throw_damaged(tables_, record, "its checksum does not hold");
  before.bytes = std::move(old.content);
  return before;
}

// Makes the chain row for a content that was whole in its record's row and that deltas are based on.
ChainRow ChainStore::old_row(const Current& old, const Superseded& before) {
  return {.form = ChainRow::Form::raw,
          .dead = true,
          .references = old.references(),
          .length = before.bytes.size(),
          .checksum = old.checksum,
          .base = {},
          .payload = before.bytes};
}

// Stores the old content as a delta against its successor if that is shorter. Returns false when it stays whole.
bool ChainStore::replace_base(Transaction& transaction, RecordId record, const Current& old, const Superseded& before,
                              BytesView content, Stamp generation, StoreCounts& change) const {
  const ContentName successor{record, generation};
  const ChainKey key{old.chain(record), {record, old.generation}};
  ChainRow row = old_row(old, before);
  const auto delta =
      successor > key.content ? short_delta(content, before.bytes, before.bytes.size() * worth_percent / 100) : std::nullopt;
  if (delta) {
    row.form = ChainRow::Form::delta;
    row.base = {key.chain, successor};
    row.payload = *delta;
    put_head(transaction, record, {key.chain, old.head->ordinal + 1, 1}, false, change);
  }
  add_chain(transaction, key, row, change);
  return delta.has_value();
}

void ChainStore::leave_head(Transaction& transaction, RecordId record, const Current& old, StoreCounts& change) const {
  if (old.head) {
    remove_head(transaction, record, change);
  } else {
    claim_head(transaction, record);
  }
}

// --- Background work causes these calls.

WriteBackResult ChainStore::write_back(Transaction& transaction, const dedup::Backward& backward) {
  if (backward.target.collection != collection_ || !dedup::may_be_base(backward.base, backward.target))
    return WriteBackResult::wrong;
  const ContentName target_name{backward.target.record, backward.target.generation};
  const ContentName base_name{backward.base.record, backward.base.generation};

  const auto base = current(transaction, base_name.record);
  if (!base || base->generation != base_name.generation) return WriteBackResult::stale;
  const auto target = current(transaction, target_name.record);
  if (!target || target->generation != target_name.generation) return WriteBackResult::stale;

  const bool target_raw = target->form == RecordRow::Form::raw;
  const bool base_raw = base->form == RecordRow::Form::raw;
  const RecordId target_chain = !target_raw    ? target->key.chain
                                : target->head ? target->head->chain
                                               : backward.target_placement.chain;
  const RecordId base_chain = !base_raw ? base->key.chain : base->head ? base->head->chain : backward.base_placement.chain;
  if (target_chain < record_id_min || base_chain < record_id_min) return WriteBackResult::wrong;
  const ChainKey target_key{target_chain, target_name};
  const ChainKey base_key{base_chain, base_name};

  const Bytes target_read = target_raw ? Bytes() : read_chain(transaction, target_key);
  const Bytes base_read = base_raw ? Bytes() : read_chain(transaction, base_key);
  const BytesView target_content = target_raw ? BytesView(target->content) : BytesView(target_read);
  const BytesView base_content = base_raw ? BytesView(base->content) : BytesView(base_read);
  if (!dedup::makes(base_content, backward.delta, target_content)) return WriteBackResult::wrong;

  const uint32_t checksum = target_raw ? target->checksum : target->chain_row.checksum;
  if (base::checksum32(target_content) != checksum) return WriteBackResult::wrong;  // the stored content is damaged

  StoreCounts change;
  const ChainRow row{.form = ChainRow::Form::delta,
                     .dead = false,
                     .references = target->references(),
                     .length = target_content.size(),
                     .checksum = checksum,
                     .base = base_key,
                     .choice = backward.choice,
                     .payload = backward.delta};
  if (target_raw) {
    if (backward.delta.size() + 24 >= target_content.size()) return WriteBackResult::no_gain;
    const auto length = static_cast<int64_t>(target_content.size());
    put_row(transaction, *target->table, target_name.record,
            stub_row(target_name.record, target_name.generation, target_chain, target->past()));
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
    // The new base comes first, since the old one may lie on the way to it.
    add_reference(transaction, base_key, backward.base_placement, change);
    if (!target_raw && target->chain_row.form == ChainRow::Form::delta)
      drop_reference(transaction, target->chain_row.base, change);
  }
  counters_.add_after_commit(transaction, change);
  return WriteBackResult::written;
}

}  // namespace storage
