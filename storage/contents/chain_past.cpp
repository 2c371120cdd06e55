// This file keeps pre-states: in a record's row first, and then in the chain table.
#include <algorithm>
#include <utility>

#include "base/prefetch.h"
#include "storage/contents/chain_current.h"
#include "storage/contents/short_delta.h"

namespace storage {

namespace {

constexpr size_t room_min = 512;  // bytes of pre-states that a row may have; or a quarter of its content

size_t room(BytesView content) {
  return std::max(room_min, content.size() / 4);
}

}  // namespace

RowPreStates ChainStore::pre_states(RecordId record, BytesView list, Stamp above) const {
  auto parsed = RowPreStates::parse(list, above);
  if (!parsed) throw_damaged(tables_, record, parsed.failure().message);
  return std::move(*parsed);
}

Stamp ChainStore::pre_state_not_after(RecordId record, BytesView list, Stamp above, Stamp newest) const {
  const auto generation = PreStateSearch().find(list, above, newest);
  if (!generation) throw_damaged(tables_, record, generation.failure().message);
  return generation.value();
}

Stamp ChainStore::pre_state(RecordId record, BytesView list, Stamp above, BytesView own, Stamp newest, Bytes& out,
                            ReadInfo* info) const {
  PreStateSearch search;
  const auto generation = search.find(list, above, newest);
  if (!generation) throw_damaged(tables_, record, generation.failure().message);
  if (generation.value() != 0) make_pre_state(record, search, own, out, info);
  return generation.value();
}

void ChainStore::make_pre_state(RecordId record, const PreStateSearch& found, BytesView own, Bytes& out, ReadInfo* info) const {
  if (const auto failure = found.make(own, out)) throw_damaged(tables_, record, failure->message);
  if (info) ++info->hops;
}

// A read of a stub's content overwrites the buffer of the stub's list, so the call copies the list; a raw row's list stays
// valid.
Stamp ChainStore::read_pre_state(Transaction& transaction, RecordId record, const RecordRow& row, Stamp newest, Bytes& out,
                                 ReadInfo* info) const {
  const Stamp above = row.generation;
  if (row.form == RecordRow::Form::raw) return pre_state(record, row.past.pre_states, above, row.content, newest, out, info);
  const Bytes list(row.past.pre_states);
  return pre_state(record, list, above, content_of(transaction, record, row, info), newest, out, info);
}

std::vector<std::pair<Stamp, Bytes>> ChainStore::pre_states_of(RecordId record, BytesView list, Stamp above,
                                                               BytesView own) const {
  const RowPreStates all = pre_states(record, list, above);
  std::vector<std::pair<Stamp, Bytes>> contents;
  for (size_t i = 0; i < all.size(); ++i)
    pre_state(record, list, above, own, all[i].generation, contents.emplace_back(all[i].generation, Bytes()).second);
  return contents;
}

std::vector<std::pair<Stamp, Bytes>> ChainStore::pre_states_of(Transaction& transaction, RecordId record,
                                                               const RecordRow& row) const {
  if (row.form == RecordRow::Form::raw) return pre_states_of(record, row.past.pre_states, row.generation, row.content);
  const Bytes list(row.past.pre_states);  // a copy, since the read of the content overwrites it
  return pre_states_of(record, list, row.generation, content_of(transaction, record, row));
}

ChainStore::Turn ChainStore::turn_over(RecordId record, const Current& old, const BytesView* after, Stamp generation, Keep keep,
                                       Superseded& before) const {
  Turn turn;
  turn.behind = old.behind;
  before.kept = old.generation <= keep.content;
  if (!before.kept && old.pre_states.empty()) [[likely]]
    return turn;
  const auto summary = PreStateSummary::of(old.pre_states, old.generation);
  if (!summary) throw_damaged(tables_, record, summary.failure().message);
  const PreStateSummary& all = summary.value();
  if (all.count > 0 && keep.shown < all.oldest) {
    // The snapshots that showed them were dropped.
    before.forgotten = pre_states_of(record, old.pre_states, old.generation, before.bytes);
    return turn;
  }

  // The newest pre-state becomes a delta of the new content; the older ones stay as they are.
  const auto stays = [&](PreState newest, BytesView content, size_t behind) {
    if (!after || newest.generation >= generation) return false;
    const size_t others = old.pre_states.size() - behind;
    if (others >= room(*after)) return false;
    const auto delta = short_delta(*after, content, std::min(room(*after) - others, content.size() / 2));
    if (!delta) return false;
    newest.delta = *delta;
    turn.in_row.reserve(RowPreStates::header_max + delta->size() + others);
    append_pre_state(turn.in_row, generation, newest);
    turn.in_row.append(old.pre_states, behind);
    return true;
  };
  PreState newest;
  BytesView content = before.bytes;
  if (before.kept) {
    newest = {old.generation, content.size(), old.form == RecordRow::Form::raw ? old.checksum : old.chain_row.checksum, {}, 0};
    if (all.count < RowPreStates::count_max && stays(newest, content, 0)) return turn;
    turn.in_place = all.count == 0 && old.form == RecordRow::Form::stub;
  } else {
    newest = all.newest;
    pre_state(record, old.pre_states, old.generation, before.bytes, newest.generation, turn.renewed.emplace());
    content = *turn.renewed;
    if (stays(newest, content, newest.end)) return turn;
  }
  turn.behind = true;
  turn.newest = newest.generation;
  turn.checksum = newest.checksum;
  turn.list = BytesView(old.pre_states).substr(newest.end);
  before.left_from = all.count == 0 ? newest.generation : all.oldest;
  before.left_to = turn.in_place ? old.key.chain : record;
  return turn;
}

// Stores the contents that left the row together in one row of the chain table. It is the row of the newest of them, which may
// exist already because other contents are based on it.
void ChainStore::put_group(Transaction& transaction, RecordId record, const Turn& turn, const Superseded& before,
                           StoreCounts& change) const {
  if (before.left_from == 0 || turn.in_place) return;
  const ChainKey key{record, {record, turn.newest}};
  const BytesView content = turn.renewed ? *turn.renewed : before.bytes;
  ChainRow row{.form = ChainRow::Form::raw,
               .dead = true,
               .kept = true,
               .references = 0,
               .length = content.size(),
               .checksum = turn.checksum,
               .base = {},
               .pre_states = turn.list,
               .payload = content};
  if (insert_chain(transaction, key, row, change)) return;
  const auto bytes = tables_.chains.get(transaction, chain_key(key));
  const ChainRow there = parse_chain_row(bytes.value(), key).or_throw();
  row.references = there.references;
  const std::optional<ChainKey> base = there.form == ChainRow::Form::delta ? std::optional(there.base) : std::nullopt;
  put_chain(transaction, key, row, change);
  if (base) drop_reference(transaction, *base, change);
}

std::vector<std::pair<Stamp, Bytes>> ChainStore::release(Transaction& transaction, const ChainKey& key) {
  const auto bytes = tables_.chains.get(transaction, chain_key(key));
  if (!bytes) return {};
  const Bytes copy(*bytes);
  ChainRow row = parse_chain_row(copy, key).or_throw();
  if (!row.kept) return {};
  Bytes content = row.form == ChainRow::Form::raw ? Bytes(row.payload) : read_chain(transaction, key);
  auto released = pre_states_of(key.content.record, row.pre_states, key.content.generation, content);
  released.emplace(released.begin(), key.content.generation, std::move(content));
  row.kept = false;
  row.pre_states = {};
  StoreCounts change;
  if (row.references > 0) {
    put_chain(transaction, key, row, change);
  } else {
    remove_chain(transaction, key, change);
    if (row.form == ChainRow::Form::delta) drop_reference(transaction, row.base, change);
  }
  counters_.add_after_commit(transaction, change);
  return released;
}

void ChainStore::each_kept(Transaction& transaction, RecordId record, Stamp from, const std::function<bool(Stamp)>& visit) const {
  TableCursor cursor = tables_.chains.cursor(transaction);
  for (bool on = cursor.seek(chain_key({record, {record, from}})); on; on = cursor.next()) {
    const ChainKey key = parse_chain_key(cursor.key()).or_throw();
    if (key.chain != record || key.content.record != record) return;
    if (parse_chain_row(cursor.value(), key).or_throw().kept && !visit(key.content.generation)) return;
  }
}

Stamp ChainStore::read_kept(ContentReader& reader, RecordId record, Stamp oldest, Stamp newest, Bytes* content,
                            ReadInfo* info) const {
  const auto found = reader.find_kept(record, oldest);
  if (!found) return 0;
  const auto& [key, row] = *found;
  const Stamp above = key.content.generation;
  if (above > newest) {
    if (content) base::prefetch(row.payload);
    const Stamp then = content ? pre_state(record, row.pre_states, above, row.payload, newest, *content, info)
                               : pre_state_not_after(record, row.pre_states, above, newest);
    return then >= oldest ? then : 0;
  }
  if (content) *content = find_in(reader, key, info).value();
  return above;
}

std::vector<std::pair<Stamp, Bytes>> ChainStore::drop_pre_states(Transaction& transaction, RecordId record) {
  const auto old = current(transaction, record);
  if (!old || old->pre_states.empty()) return {};
  const bool raw = old->form == RecordRow::Form::raw;
  auto contents = pre_states_of(record, old->pre_states, old->generation, raw ? old->content : read_chain(transaction, old->key));
  const RowPast past{{}, old->behind};
  put_row(transaction, *old->table, record,
          raw ? raw_row(old->generation, old->checksum, old->content, past)
              : stub_row(record, old->generation, old->key.chain, past));
  counters_.add_after_commit(transaction, {.raw_bytes = -static_cast<int64_t>(old->pre_states.size())});
  return contents;
}

}  // namespace storage
