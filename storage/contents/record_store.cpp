#include "storage/contents/record_store.h"

#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/prefetch.h"
#include "storage/contents/contents.h"
#include "storage/contents/record_store_state.h"
#include "storage/contents/unreadable_range.h"
#include "storage/engine/engine.h"

namespace storage {

namespace {

constexpr int log_unknown_end = 7200505;
// New records get ids so far above those that are known if the highest one can't be read.
constexpr RecordId safe_distance = RecordId{1} << 40;

RecordId last_id(Engine& engine, const StoreTables& tables) {
  RecordId last = 0, safe = 0;
  for (const Table* table : {&tables.records, &tables.packed}) {
    try {
      Transaction transaction(engine, Transaction::Mode::read);
      TableCursor cursor = table->cursor(transaction);
      if (cursor.previous()) last = std::max(last, record_from_key(cursor.key()));
    } catch (const base::OperationError& damage) {
      if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
      base::log(base::Severity::error, base::LogComponent::storage, log_unknown_end,
                "The end of a table can't be read; documents can't be inserted before a repair",
                base::Attributes().add("table", table->name()).add("error", damage.what()));
      safe = safe_distance;
    }
  }
  return last + safe;
}

// The result only says where rows are looked for first.
RecordId first_unpacked(Engine& engine, const StoreTables& tables) {
  try {
    Transaction transaction(engine, Transaction::Mode::read);
    TableCursor packed = tables.packed.cursor(transaction);
    if (!packed.next()) return 0;
    TableCursor cursor = tables.records.cursor(transaction);
    return cursor.next() ? record_from_key(cursor.key()) : record_id_max;
  } catch (const base::OperationError& damage) {
    if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
    return 0;
  }
}

}  // namespace

RecordStore::State::State(Contents& contents, CollectionId collection, const std::string& profile)
    : engine(contents.engine), chains(contents, collection, profile.empty() ? contents.profile : profile) {
  next_id = last_id(engine, chains.tables()) + 1;
  chains.set_packed_below(first_unpacked(engine, chains.tables()));
}

void RecordStore::State::note_read(const ReadInfo& info, uint64_t micros, std::vector<ContentReader::Dead> dead) {
  hops.record(info.hops);
  decode_micros.record(micros);
  uint32_t before = hops_max.load(std::memory_order_relaxed);
  while (before < info.hops && !hops_max.compare_exchange_weak(before, info.hops, std::memory_order_relaxed)) {
  }
  if (dead.empty()) return;
  constexpr size_t waiting_max = 256;
  const base::MutexLock lock(mutex_);
  for (auto& one : dead) {
    if (dead_.size() >= waiting_max) break;
    dead_.push_back(one);
  }
}

bool RecordStore::State::has_dead() {
  const base::MutexLock lock(mutex_);
  return !dead_.empty();
}

std::vector<ContentReader::Dead> RecordStore::State::take_dead() {
  const base::MutexLock lock(mutex_);
  return std::exchange(dead_, {});
}

Bytes RecordStore::State::content_of(Transaction& transaction, RecordId record, const RecordRow& row, ReadInfo* info,
                                     ContentReader* reader) {
  const bool alone = reader == nullptr;
  if (alone) reads.note(record);
  if (row.form == RecordRow::Form::raw) return chains.content_of(transaction, record, row, info);
  ReadInfo read;
  std::vector<ContentReader::Dead> dead;
  const int64_t start = engine.clock().monotonic_us();
  Bytes content = chains.content_of(transaction, record, row, &read, &dead, reader);
  note_read(read, static_cast<uint64_t>(engine.clock().monotonic_us() - start), std::move(dead));
  if (alone && read.lent && reads.wanted()) demoted_reads.note(record);
  if (info) {
    info->hops += read.hops;
    info->chain_bytes += read.chain_bytes;
    info->lent |= read.lent;
  }
  return content;
}

RecordStore::RecordStore(Contents& contents, CollectionId collection, const std::string& profile)
    : state_(std::make_unique<State>(contents, collection, profile)) {}
RecordStore::~RecordStore() = default;

RecordId RecordStore::insert(Transaction& transaction, BytesView content, Stamp generation) {
  const RecordId record = state_->next_id.fetch_add(1, std::memory_order_relaxed);
  state_->chains.insert(transaction, record, content, generation);
  return record;
}

void RecordStore::insert_at(Transaction& transaction, RecordId id, BytesView content, Stamp generation) {
  state_->chains.insert(transaction, id, content, generation);
}

bool RecordStore::keep_as_delta(Transaction& transaction, RecordId older, RecordId newer) {
  constexpr uint32_t versions_max = 16;
  if (newer <= older) return false;
  const ChainStore& chains = state_->chains;
  // The rows may lie in one table, so a second call invalidates what the first one found.
  const auto whole = [&](RecordId id) -> std::optional<std::pair<Stamp, Bytes>> {
    const auto place = find_row(chains.tables(), transaction, id, id < chains.packed_below());
    if (!place || place->row.form != RecordRow::Form::raw) return std::nullopt;
    return std::pair{place->row.generation, Bytes(place->row.content)};
  };
  const auto base = whole(newer), target = base ? whole(older) : std::nullopt;
  if (!target) return false;
  dedup::DeltaOptions options;
  options.literal_bytes_max = target->second.size() / 2;
  auto delta = dedup::encode(base->second, target->second, options);
  if (!delta || delta->size() > target->second.size() / 2) return false;

  dedup::Backward backward;
  backward.target = {chains.collection(), older, target->first};
  backward.base = {chains.collection(), newer, base->first};
  backward.target_placement = chains.placement(transaction, {older, target->first}).value_or(dedup::Placement{older, 0});
  backward.base_placement = {backward.target_placement.chain, backward.target_placement.ordinal + 1};
  if (backward.base_placement.ordinal >= versions_max) return false;
  backward.delta = std::move(*delta);
  return state_->chains.write_back(transaction, backward) == WriteBackResult::written;
}

std::optional<Bytes> RecordStore::find(Transaction& transaction, RecordId id, ReadInfo* info) {
  const auto place = find_row(state_->chains.tables(), transaction, id, id < state_->chains.packed_below());
  if (!place) return std::nullopt;
  return state_->content_of(transaction, id, place->row, info);
}

bool RecordStore::find_not_after(Transaction& transaction, RecordId id, Stamp newest, Bytes& content, ReadInfo* info) {
  const auto place = find_row(state_->chains.tables(), transaction, id, id < state_->chains.packed_below());
  if (!place) return false;
  if (place->row.generation <= newest) {
    content = state_->content_of(transaction, id, place->row, info);
    return true;
  }
  if (place->row.past.pre_states.empty()) return false;
  return state_->chains.read_pre_state(transaction, id, place->row, newest, content, info) != 0;
}

std::optional<Stamp> RecordStore::State::generation_not_after(RecordId record, const RecordRow& row, Stamp newest) const {
  if (row.generation <= newest) return row.generation;
  if (row.past.pre_states.empty()) return std::nullopt;
  const Stamp generation = chains.pre_state_not_after(record, row, newest);
  return generation != 0 ? std::optional(generation) : std::nullopt;
}

std::optional<Stamp> RecordStore::generation_not_after(Transaction& transaction, RecordId id, Stamp newest, bool current) const {
  const auto place = find_row(state_->chains.tables(), transaction, id, id < state_->chains.packed_below());
  if (!place || (current && place->row.generation > newest)) return std::nullopt;
  return state_->generation_not_after(id, place->row, newest);
}

std::optional<Bytes> RecordStore::find(Transaction& transaction, RecordId id, Stamp generation) {
  return state_->chains.find(transaction, {id, generation});
}

Superseded RecordStore::update(Transaction& transaction, RecordId id, BytesView content, Stamp generation, Keep keep) {
  return state_->chains.update(transaction, id, content, generation, keep);
}

Superseded RecordStore::remove(Transaction& transaction, RecordId id, Keep keep) {
  return state_->chains.remove(transaction, id, keep);
}

std::optional<Bytes> RecordStore::find_kept(Transaction& transaction, RecordId id, Stamp generation, RecordId chain) {
  return state_->chains.find_in(transaction, {chain, {id, generation}});
}

void RecordStore::each_kept(Transaction& transaction, RecordId id, Stamp from, const std::function<bool(Stamp)>& visit) const {
  state_->chains.each_kept(transaction, id, from, visit);
}

std::vector<std::pair<Stamp, Bytes>> RecordStore::drop_pre_states(Transaction& transaction, RecordId id) {
  return state_->chains.drop_pre_states(transaction, id);
}

std::vector<std::pair<Stamp, Bytes>> RecordStore::release(Transaction& transaction, RecordId id, Stamp generation,
                                                          RecordId chain) {
  return state_->chains.release(transaction, {chain, {id, generation}});
}

RecordStoreStats RecordStore::stats() const {
  const StoreCounts counts = state_->chains.counters().get();
  return {counts.records, counts.logical_bytes};
}

// --- The cursor merges the two record tables.

struct RecordCursor::State {
  struct Side {
    TableCursor cursor;
    bool on = false;
    RecordId id = 0;
    RecordId from = 0;  // the side must be placed there before it is asked; 0: it is placed
  };

  RecordStore::State& store;
  Transaction& transaction;
  Direction direction;
  Side sides[2];
  int at = -1;                      // the side that stands on the current record
  bool placed = false;              // both sides stand on what comes next
  std::optional<RecordRow> parsed;  // of the current record, once the caller asked for it
  Bytes decoded;
  Stamp decoded_of = 0;  // the generation that `decoded` is of; 0: none
  // The search found the pre-state of generation `found` in the row; 0: it did not look.
  PreStateSearch search;
  Stamp found = 0;
  std::optional<ContentReader> reader;  // set once something had to be decoded
  ReadInfo info;

  void placed_on(Side& side, bool on) {
    side.on = on;
    if (on) side.id = record_from_key(side.cursor.key());
  }
  void place(Side& side) {
    if (side.from == 0) return;
    const RecordId from = std::exchange(side.from, 0);
    const Bytes key = record_key(from);
    try {
      placed_on(side, direction == Direction::forward ? side.cursor.seek(key) : side.cursor.seek_back(key));
    } catch (const base::OperationError& error) {
      fail(side, from, error);
    }
  }
  // Says between which records a scan met damage.
  [[noreturn]] void fail(const Side& side, RecordId at, const base::OperationError& error) {
    if (error.code() != base::ErrorCode::data_corruption_detected) throw base::OperationError(error);
    const StoreTables& tables = store.chains.tables();
    throw_unreadable(tables, transaction, &side == &sides[0] ? tables.records : tables.packed, at, error.what());
  }
  // When only one side has the record, the other waits: to place it may mean a walk over all rows that moved from its table,
  // until their pages are written.
  bool place_exactly(RecordId id) {
    const StoreTables& tables = store.chains.tables();
    const Table* const of[] = {&tables.records, &tables.packed};
    const int likely = id < store.chains.packed_below() ? 1 : 0;
    for (const int i : {likely, 1 - likely}) {
      if (!of[i]->get(transaction, record_key(id))) continue;
      place(sides[i]);
      sides[1 - i].on = false;
      return true;
    }
    return false;
  }
  void step(Side& side) {
    try {
      placed_on(side, direction == Direction::forward ? side.cursor.next() : side.cursor.previous());
    } catch (const base::OperationError& error) {
      if (direction == Direction::forward) fail(side, side.on ? side.id + 1 : record_id_min, error);
      fail(side, side.on ? side.id - 1 : record_id_max, error);
    }
  }
  const RecordRow& row() {
    if (parsed) return *parsed;
    const Side& side = sides[at];
    const auto read = parse_record_row(side.cursor.value(), side.id);
    if (!read) throw_damaged(store.chains.tables(), side.id, read.failure().message);
    return parsed.emplace(read.value());
  }
  void leave_record() {
    parsed.reset();
    decoded_of = found = 0;
  }
  // Returns the side whose record comes first; -1 at the end.
  int first() const {
    if (!sides[0].on || !sides[1].on) return sides[0].on ? 0 : sides[1].on ? 1 : -1;
    return (sides[0].id < sides[1].id) == (direction == Direction::forward) ? 0 : 1;
  }
};

RecordCursor::RecordCursor(std::unique_ptr<State> state) : state_(std::move(state)) {}
RecordCursor::RecordCursor(RecordCursor&&) noexcept = default;
RecordCursor::~RecordCursor() = default;

RecordCursor RecordStore::cursor(Transaction& transaction, Direction direction) {
  const StoreTables& tables = state_->chains.tables();
  return RecordCursor(std::unique_ptr<RecordCursor::State>(
      new RecordCursor::State{*state_,
                              transaction,
                              direction,
                              {{tables.records.cursor(transaction)}, {tables.packed.cursor(transaction)}},
                              -1,
                              false,
                              {},
                              {},
                              0,
                              {},
                              0,
                              {},
                              {}}));
}

bool RecordCursor::next() {
  State& state = *state_;
  state.leave_record();
  if (const RecordId from = state.sides[0].from; state.placed && from != 0) {
    state.placed = false;
    if (!state.place_exactly(from)) {
      for (auto& side : state.sides) state.place(side);
    }
  } else if (state.placed) {
    state.placed = false;
  } else if (state.at >= 0) {
    state.step(state.sides[state.at]);
    state.place(state.sides[1 - state.at]);
  } else {
    for (auto& side : state.sides) state.step(side);
  }
  state.at = state.first();
  if (state.at < 0) state.placed = true;  // the end stays the end
  return state.at >= 0;
}

void RecordCursor::seek_after(RecordId id) {
  State& state = *state_;
  const bool forward = state.direction == Direction::forward;
  const bool any = forward ? id < record_id_max : id > record_id_min;
  for (auto& side : state.sides) {
    side.on = false;
    side.from = !any ? 0 : forward ? id + 1 : id - 1;
  }
  state.placed = true;
  state.leave_record();
}

RecordId RecordCursor::id() const {
  return state_->sides[state_->at].id;
}

Stamp RecordCursor::generation() const {
  return state_->row().generation;
}
bool RecordCursor::whole() const {
  return state_->row().form == RecordRow::Form::raw;
}

BytesView RecordCursor::content() {
  State& state = *state_;
  const RecordRow& row = state.row();
  if (state.decoded_of == row.generation) return state.decoded;
  if (row.form == RecordRow::Form::raw) {
    if (base::checksum32(row.content) != row.checksum)
      throw_damaged(state.store.chains.tables(), id(), "its checksum does not hold");
    return row.content;
  }
  if (!state.reader) state.reader.emplace(state.store.chains.tables(), state.transaction, state.store.chains.collection());
  state.decoded = state.store.content_of(state.transaction, id(), row, &state.info, &*state.reader);
  state.decoded_of = row.generation;
  return state.decoded;
}

std::optional<Stamp> RecordCursor::generation_not_after(Stamp newest) {
  State& state = *state_;
  const RecordRow& row = state.row();
  if (row.generation <= newest) return row.generation;
  if (row.past.pre_states.empty()) return std::nullopt;
  base::prefetch(row.content);  // the caller wants it next, and it isn't in the CPU's cache
  const auto generation = state.search.find(row.past.pre_states, row.generation, newest);
  if (!generation) throw_damaged(state.store.chains.tables(), id(), generation.failure().message);
  state.found = generation.value();
  return state.found != 0 ? std::optional(state.found) : std::nullopt;
}

BytesView RecordCursor::content_not_after(Stamp newest) {
  State& state = *state_;
  if (state.decoded_of != 0 && state.decoded_of == state.found) return state.decoded;
  const RecordRow& row = state.row();
  if (row.generation <= newest) return content();
  state.decoded_of = 0;  // a failure leaves anything in `decoded`
  if (row.form == RecordRow::Form::raw && state.found != 0) {
    state.store.chains.make_pre_state(id(), state.search, row.content, state.decoded, &state.info);
    state.decoded_of = state.found;
  } else {
    state.found = state.decoded_of =
        state.store.chains.read_pre_state(state.transaction, id(), row, newest, state.decoded, &state.info);
  }
  base::check(state.decoded_of != 0, "who asks for a content knows that it is there");
  return state.decoded;
}

const ReadInfo& RecordCursor::info() const {
  return state_->info;
}

}  // namespace storage
