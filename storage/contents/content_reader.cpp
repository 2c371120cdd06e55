#include "storage/contents/content_reader.h"

#include <utility>

#include "storage/contents/contents.h"
#include "storage/contents/unreadable_range.h"
#include "storage/engine/internals.h"

namespace storage {

namespace {

base::Failure corrupt(const std::string& what) {
  return {base::ErrorCode::data_corruption_detected, what};
}

}  // namespace

void throw_damaged(const StoreTables& tables, RecordId record, const std::string& what) {
  const auto& owner = tables.contents->engine.internals().sessions.table_owner;
  std::string name = owner ? owner(tables.records.name()) : "";
  if (name.empty()) name = "collection " + std::to_string(tables.collection);
  throw base::OperationError(base::ErrorCode::data_corruption_detected,
                             "record " + std::to_string(record) + " of " + name + " cannot be read: " + what);
}

std::optional<RowPlace> find_row(const StoreTables& tables, Transaction& transaction, RecordId record, bool likely_packed) {
  const Bytes key = record_key(record);
  const Table* order[] = {&tables.records, &tables.packed};
  if (likely_packed) std::swap(order[0], order[1]);
  // A row is in one of the tables only, so damage to one of them doesn't concern the rows of the other.
  std::optional<std::string> damage;
  const Table* damaged = nullptr;
  for (const Table* table : order) {
    std::optional<BytesView> bytes;
    try {
      bytes = table->get(transaction, key);
    } catch (const base::OperationError& error) {
      if (error.code() != base::ErrorCode::data_corruption_detected) throw;
      damage = error.what();
      damaged = table;
    }
    if (!bytes) continue;
    return RowPlace{table, parse_record_row(*bytes, record).or_throw()};
  }
  if (damage) throw_unreadable(tables, transaction, *damaged, record, *damage);
  return std::nullopt;
}

std::optional<RowPlace> find_sound_row(const StoreTables& tables, Transaction& transaction, RecordId record) {
  try {
    return find_row(tables, transaction, record);
  } catch (const base::OperationError& damage) {
    if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
    return std::nullopt;
  }
}

ContentReader::ContentReader(const StoreTables& tables, Transaction& transaction, CollectionId collection)
    : tables_(tables), transaction_(transaction), clock_(tables.contents->engine.clock()), collection_(collection) {}

std::optional<base::Result<Bytes>> ContentReader::find(const ChainKey& key, ReadInfo* info) {
  ++contents_;
  const auto there = try_chain_row(key);
  if (!there) return base::Result<Bytes>(there.failure());
  if (!there.value()) return std::nullopt;
  found_ = true;
  return decode(key, info);
}

base::Result<Bytes> ContentReader::read(const ChainKey& key, ReadInfo* info) {
  ++contents_;
  found_ = false;
  return decode(key, info);
}

base::Result<Bytes> ContentReader::decode(const ChainKey& key, ReadInfo* info) {
  dedup::DecodeStats stats;
  dedup::HopBaseCache* const cache = hop_bases_ && transaction_.uses_caches() ? &tables_.contents->hop_bases : nullptr;
  auto content = decode(key, stats, cache);
  if (!content && cache) {
    found_ = false;
    content = decode(key, stats = {}, nullptr);
  }
  if (info) {
    info->hops += stats.hops;
    info->chain_bytes += stats.chain_bytes;
    info->lent |= lent_;
  }
  return content;
}

base::Result<Bytes> ContentReader::decode(const ChainKey& key, dedup::DecodeStats& stats, dedup::HopBaseCache* cache) {
  next_ = dependent_ = key;
  dead_.clear();
  lent_ = false;
  return dedup::decode(dedup_id(key.content), *this, tables_.contents->read_limits.get(), &stats, cache);
}

std::optional<std::pair<ChainKey, ChainRow>> ContentReader::find_kept(RecordId record, Stamp oldest) {
  ++contents_;
  wanted_.clear();
  append_chain_key(wanted_, {record, {record, oldest}});
  if (!cursor_) cursor_ = tables_.chains.cursor(transaction_);
  // Between the cursor and the wanted row there is often only what left the row of the record before it.
  constexpr int steps_max = 4;
  const auto in_front = [&] { return stands_ && cursor_->key().compare(wanted_) < 0; };
  if (walks() && in_front()) {
    const Walk walk(*this);
    for (int i = 0; i < steps_max && in_front(); ++i) stands_ = cursor_->next();
    if (in_front()) stands_ = cursor_->seek(wanted_);
  } else {
    stands_ = cursor_->seek(wanted_);
  }
  for (; stands_; stands_ = cursor_->next()) {
    const ChainKey key = parse_chain_key(cursor_->key()).or_throw();
    if (key.chain != record || key.content.record != record) return std::nullopt;
    const ChainRow row = parse_chain_row(cursor_->value(), key).or_throw();
    if (row.kept) return std::pair(key, row);
  }
  return std::nullopt;
}

base::Result<bool> ContentReader::try_chain_row(const ChainKey& key) {
  try {
    return find_chain_row(key);
  } catch (const base::OperationError& damage) {
    if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
    return corrupt("content " + to_string(key.content) + " in chain " + std::to_string(key.chain) + ": " + damage.what());
  }
}

bool ContentReader::find_chain_row(const ChainKey& key) {
  wanted_.clear();
  append_chain_key(wanted_, key);
  chain_row_.reset();
  if (!walks()) {
    chain_row_ = tables_.chains.get(transaction_, wanted_);
  } else if (const Walk walk(*this); walk_to(wanted_)) {
    chain_row_ = cursor_->value();
  }
  return chain_row_.has_value();
}

// A base often lies right behind the content that is based on it, or not in this table at all; the next content that is read
// often lies behind the base.
bool ContentReader::walk_to(BytesView wanted) {
  if (!cursor_) cursor_ = tables_.chains.cursor(transaction_);
  if (stands_) {
    int order = cursor_->key().compare(wanted);
    if (order < 0) {
      stands_ = cursor_->next();
      order = stands_ ? cursor_->key().compare(wanted) : 1;
      if (order > 0) return false;  // no row lies between the two
    }
    if (order == 0) return true;
  }
  stands_ = cursor_->seek(wanted);
  return stands_ && cursor_->key() == wanted;
}

// The first base is looked up as any row is. From then on a cursor in the same table tries the row behind the last one first.
std::optional<RecordRow> ContentReader::find_base(RecordId record) {
  if (base_table_ && walks()) {
    const Walk walk(*this);
    if (!bases_) bases_ = base_table_->cursor(transaction_);
    const auto on_it = [&] { return record_from_key(bases_->key()) == record; };
    const bool next = base_ != 0 && record > base_ && bases_->next() && on_it();
    if (next || (bases_->seek(record_key(record)) && on_it())) {
      base_ = record;
      return parse_record_row(bases_->value(), record).or_throw();
    }
    base_ = 0;
  }
  const auto place = find_row(tables_, transaction_, record);
  if (!place) return std::nullopt;
  if (base_table_ != place->table) bases_.reset();
  base_table_ = place->table;
  return place->row;
}

base::Result<dedup::StoredForm> ContentReader::fetch_form(const dedup::ContentId& id) {
  const ChainKey key = next_;
  if (dedup_id(key.content) != id) return corrupt("asked for a content that is no one's base");

  dedup::StoredForm form;
  bool in_chain = std::exchange(found_, false);
  if (!in_chain) {
    const auto there = try_chain_row(key);
    if (!there) return there.failure();
    in_chain = there.value();
  }
  if (in_chain) {
    const auto parsed = parse_chain_row(*chain_row_, key);
    if (!parsed) return parsed.failure();
    const ChainRow& row = parsed.value();
    if (row.length > UINT32_MAX) return corrupt("a content of " + std::to_string(row.length) + " bytes");
    form.raw = row.form == ChainRow::Form::raw;
    // The next step overwrites the buffer of a delta; a whole content is the last step.
    if (form.raw) {
      form.borrowed = row.payload;
    } else {
      form.bytes = row.payload;
    }
    form.base = dedup_id(row.base.content);
    form.checksum = row.checksum;
    form.raw_bytes = static_cast<uint32_t>(row.length);
    if (key == dependent_) lent_ = !form.raw && row.base.chain != key.chain;
    if (row.garbage() && key != dependent_) dead_.push_back({key, dependent_});
    dependent_ = key;
    next_ = row.base;
    return form;
  }
  // The content isn't in the chain table, so it must be its record's newest, whole in its row.
  std::optional<RecordRow> row;
  try {
    row = find_base(key.content.record);
  } catch (const base::OperationError& error) {
    if (error.code() != base::ErrorCode::data_corruption_detected) throw;
    return corrupt("the row of record " + std::to_string(key.content.record) + ": " + error.what());
  }
  if (!row || row->form != RecordRow::Form::raw || row->generation != key.content.generation) {
    return corrupt("content " + to_string(key.content) + " in chain " + std::to_string(key.chain) + " is missing");
  }
  form.borrowed = row->content;
  form.checksum = row->checksum;
  form.raw_bytes = static_cast<uint32_t>(row->content.size());
  return form;
}

}  // namespace storage
