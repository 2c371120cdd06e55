#include "versions/past/past.h"

#include <algorithm>

#include "base/error.h"
#include "base/guarded.h"
#include "base/varint.h"
#include "bson/validate.h"
#include "storage/collections/past_catalog.h"
#include "storage/collections/stored_collection.h"
#include "storage/contents/kept_contents.h"
#include "storage/store.h"
#include "versions/past/content_key.h"

namespace versions::past {

namespace {

constexpr char rows_name[] = "past-rows", chains_name[] = "past-chains", entries_name[] = "past-entries",
               purged_name[] = "past-purged";

[[noreturn]] void damaged_place(CollectionId collection) {
  throw base::OperationError(base::ErrorCode::data_corruption_detected,
                             "where a content of collection " + std::to_string(collection) + " is kept can't be read");
}

std::string table_key(CollectionId collection, Stamp snapshot) {
  return std::to_string(collection) + "@" + std::to_string(snapshot);
}

}  // namespace

Past::Past(storage::Store& store) : store_(store), snapshots_(store), lost_(store) {
  const auto tables = store.engine().table_names();
  if (std::find(tables.begin(), tables.end(), rows_name) != tables.end()) make();
  store.set_pre_states(this);
}

Past::~Past() {
  store_.set_pre_states(nullptr);
}

void Past::make() {
  if (made_.load(std::memory_order_acquire)) return;
  const base::MutexLock lock(making_);
  if (made_.load(std::memory_order_relaxed)) return;
  store_.past_catalog().make();
  snapshots_.make();
  open_tables();
  made_.store(true, std::memory_order_release);
}

void Past::open_tables() {
  rows_ = store_.engine().open_table(rows_name, Maplog::table_options());
  chains_ = store_.engine().open_table(chains_name, {.prefix_compression = true});
  entries_ = SavedEntries(store_.engine().open_table(entries_name, {.leaf_page_bytes = 16 << 10, .prefix_compression = true}));
  lost_.open();
  states_ = SavedStates(store_.engine().open_table(SavedStates::table_name, {.prefix_compression = true}), &lost_);
  purged_rows_ = store_.engine().open_table(purged_name, {.allocation_bytes = 512, .copied = true});
  load_purged();
}

Maplog Past::log(CollectionId collection) const {
  return Maplog(rows_, {}, nodes_, storage::catalog_key(collection));
}

void Past::save(Transaction& transaction, storage::StoredCollection& collection, RecordId record,
                const storage::Superseded& before, Stamp write) {
  if (before.left_from != 0) {
    log(collection.id())
        .append(transaction, store_.declared_snapshots().position_before(write), write, {record, before.left_from});
    if (before.left_to != record) {
      Bytes chain;
      base::append_varint(chain, static_cast<uint64_t>(before.left_to));
      chains_.put(transaction, content_key(collection.id(), {record, before.generation}), chain);
    }
  }
  // Contents that left the row earlier may have been released since, or be in another record's chain.
  bool stays = before.removed && before.left_from != 0;
  if (before.removed && !stays) each_kept(transaction, collection, record, [&](const Mapping&) { return !(stays = true); });
  const auto indexes = collection.stored_indexes();
  for (const auto& index : *indexes) {
    if (index->is_id()) {
      if (stays) entries_.add(transaction, collection.id(), *index, bson::DocumentView(before.bytes), record, 0);
      continue;
    }
    if (before.kept)
      entries_.add(transaction, collection.id(), *index, bson::DocumentView(before.bytes), record, before.generation);
    for (const auto& [generation, content] : before.forgotten)
      entries_.remove(transaction, collection.id(), *index, bson::DocumentView(content), record, generation);
  }
  if (before.kept) saved_.fetch_add(1, std::memory_order_relaxed);
}

void Past::lose(Transaction& transaction, storage::StoredCollection& collection, RecordId record) {
  if (!made_.load(std::memory_order_acquire)) return;
  transaction.after_commit([this] { ++purges_; });  // snapshots may show fewer documents than were counted
  storage::KeptContents kept(collection.records(), transaction);
  std::optional<Bytes> content;
  each_kept(transaction, collection, record, [&](const Mapping& mapping) {
    content = base::guarded([&] { return kept.find(record, mapping.content, chain_of(transaction, collection.id(), mapping)); });
    if (content && !bson::validate(*content)) content.reset();
    return !content;
  });
  if (!content) return;
  const auto indexes = collection.stored_indexes();
  for (const auto& index : *indexes) {
    if (index->is_id()) entries_.add(transaction, collection.id(), *index, bson::DocumentView(*content), record, 0);
  }
}

RecordId Past::chain_of(Transaction& transaction, CollectionId collection, const Mapping& mapping) const {
  const auto row = chains_.get(transaction, content_key(collection, mapping));
  if (!row) return mapping.row;
  BytesView bytes = *row;
  const auto chain = base::take_varint(bytes);
  if (chain && bytes.empty()) return static_cast<RecordId>(*chain);
  damaged_place(collection);
}

void Past::each_kept(Transaction& transaction, storage::StoredCollection& collection, RecordId record,
                     const std::function<bool(const Mapping&)>& visit) const {
  bool more = true;
  collection.records().each_kept(transaction, record, 0, [&](Stamp generation) { return more = visit({record, generation}); });
  storage::TableCursor elsewhere = chains_.cursor(transaction);
  const Bytes first = content_key(collection.id(), {record, 0});
  const BytesView of_record = BytesView(first).substr(0, first.size() - sizeof(Stamp));
  for (bool on = more && elsewhere.seek(first); on && elsewhere.key().starts_with(of_record); on = elsewhere.next()) {
    if (elsewhere.key().size() != first.size()) damaged_place(collection.id());
    if (!visit({record, base::load_be64(elsewhere.key().data() + of_record.size())})) return;
  }
}

std::optional<Stamp> Past::shown_generation(Transaction& transaction, storage::StoredCollection& collection,
                                            const Mapping& mapping, Stamp snapshot) const {
  storage::KeptContents kept(collection.records(), transaction);
  if (const Stamp own = kept.newest(mapping.row, mapping.content, snapshot)) return own;
  const RecordId chain = chain_of(transaction, collection.id(), mapping);
  return chain == mapping.row ? std::nullopt : std::optional(mapping.content);
}

bool Past::find_content(Transaction& transaction, storage::KeptContents& kept, CollectionId collection, const Mapping& mapping,
                        Stamp snapshot, Bytes& content, storage::ReadInfo* info) const {
  // Nearly all contents lie in their own record's chain, and need no further look-up.
  if (kept.find_newest(mapping.row, mapping.content, snapshot, content, info)) return true;
  const RecordId chain = chain_of(transaction, collection, mapping);
  if (chain == mapping.row) return false;
  auto elsewhere = kept.find(mapping.row, mapping.content, chain, info);
  if (elsewhere) content = std::move(*elsewhere);
  return elsewhere.has_value();
}

void Past::read_content(Transaction& transaction, storage::KeptContents& kept, CollectionId collection, const Mapping& mapping,
                        Stamp snapshot, Bytes& content, storage::ReadInfo* info) const {
  if (find_content(transaction, kept, collection, mapping, snapshot, content, info)) return;
  throw base::OperationError(base::ErrorCode::data_corruption_detected, "what record " + std::to_string(mapping.row) +
                                                                            " of collection " + std::to_string(collection) +
                                                                            " was in a snapshot is missing");
}

// --- page tables

std::shared_ptr<const ShownRows> Past::rows(Transaction& transaction, CollectionId collection, Stamp snapshot) {
  constexpr size_t newer_max = 1024;  // rows; or an eighth of the table
  const std::string name = table_key(collection, snapshot);
  Known known;
  {
    const base::MutexLock lock(mutex_);
    if (const Known* found = tables_.get(name)) known = *found;
  }
  const Maplog log = this->log(collection);
  auto shown = std::make_shared<ShownRows>();
  const Stamp visible = transaction.visible_below();
  if (!known.table) {
    shown->table = std::make_shared<ShownTable>(log.page_table(transaction, snapshot));
    shown->known_below = visible;
    keep_table(name, {shown->table, visible, 0});
    return shown;
  }
  shown->table = known.table;
  shown->known_below = std::max(known.below, visible);
  if (visible <= known.below) return shown;
  // Contents that were written since were saved under the position of that time, or under a later one.
  LogScan scan(log, transaction, std::max(snapshot, store_.declared_snapshots().position_before(known.below)), known.below);
  for (auto run = scan.next(); !run.empty(); run = scan.next()) {
    run.each([&](const Mapping& mapping) {
      if (!known.table->rows.find(mapping.row)) shown->newer.rows.take({&mapping, 1});
    });
  }
  if (shown->newer.rows.size() <= std::max(newer_max, known.table->rows.size() / 8)) return shown;
  auto all = std::make_shared<ShownTable>(known.table->rows);
  all->rows.take(shown->newer.rows);
  shown->table = all;
  shown->newer.rows = PageTable();
  keep_table(name, {std::move(all), visible, 0});
  return shown;
}

bool Past::looks_alone(CollectionId collection, Stamp snapshot) {
  constexpr unsigned alone_max = 16;  // so many look-ups take half as long as making a table
  constexpr size_t note_bytes = 128;
  const std::string name = table_key(collection, snapshot);
  const base::MutexLock lock(mutex_);
  const Known* const found = tables_.get(name);
  const unsigned before = found ? found->looked_up : 0;
  if ((found && found->table) || before >= alone_max) return false;
  tables_.put(name, {nullptr, 0, before + 1}, note_bytes);
  return true;
}

void Past::warm(Transaction& transaction, CollectionId collection, const std::vector<Stamp>& snapshots) {
  if (snapshots.size() < 2) return;
  const JointTable joint = log(collection).joint_table(transaction, snapshots.front(), snapshots.back());
  for (const Stamp snapshot : snapshots) {
    keep_table(table_key(collection, snapshot),
               {std::make_shared<ShownTable>(joint.table(snapshot)), transaction.visible_below(), 0});
  }
}

void Past::keep_table(const std::string& name, const Known& known) {
  const base::MutexLock lock(mutex_);
  tables_.put(name, known, known.table->memory_bytes());
}

size_t Past::tables_bytes() const {
  const base::MutexLock lock(mutex_);
  return tables_.cost();
}

}  // namespace versions::past
