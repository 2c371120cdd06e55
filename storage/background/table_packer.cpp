#include "storage/background/table_packer.h"

#include <algorithm>
#include <optional>

#include "storage/contents/contents.h"
#include "storage/engine/internals.h"
#include "storage/format/page_compressor.h"

namespace storage {

namespace {

constexpr size_t batch_rows = 500;
constexpr size_t batch_bytes = 1 << 20;
constexpr int64_t pack_bytes_min = 1 << 20;
// The packer packs when the rows that left had more than 1/4 of the bytes of those that stayed.
constexpr int64_t pack_share = 4;
constexpr int64_t pack_share_asked = 16;
constexpr int64_t settle_bytes_min = 2 << 20;     // So many bytes in the file of `records` are worth a move by themselves.
constexpr int64_t settle_bytes_asked = 64 << 10;  // So many bytes are enough when somebody waits for the space.
constexpr uint64_t settle_share = 20;             // Up to 1/20 of the cache may change between checkpoints.
// While rows are moved, so much may be unwritten: a checkpoint needs room for it, which others may take until then.
constexpr uint64_t unwritten_bytes_min = 8 << 20;
constexpr int64_t reusable_min = 1 << 20;
constexpr int64_t reusable_share = 5;  // The packer compacts when more than 1/5 of the file is unused.
constexpr int64_t reusable_share_asked = 12;

// WiredTiger doesn't compact these files: it skips files below a megabyte, and files in which it would gain less than that.
constexpr int64_t small_file_max = 4 << 20;
constexpr int64_t small_reusable_min = 16 << 10;
constexpr int64_t small_reusable_share = 12;
constexpr size_t touch_every_bytes = 4 << 10;  // This is less than any page that is worth a move.
// The first rewrite puts pages behind the existing ones; another moves them to the front.
constexpr int rewrites_max = 4;

// The first dictionary is made when there are this many bytes to learn from, and each further one when there are 32 times as
// many.
constexpr int64_t learn_bytes_min = 1 << 20;
constexpr int learn_growth_bits = 5;
constexpr int64_t dictionary_share = 200;  // A dictionary may have 1/200 of the bytes that it is made for.
constexpr int64_t dictionary_bytes_min = 4 << 10;
constexpr int64_t dictionary_bytes_max = 112 << 10;
constexpr size_t sample_bytes = 3 << 20;  // More samples hardly improve the dictionary.
constexpr size_t sample_row_bytes = 8 << 10;
constexpr size_t samples_max = 3000;

bool thin(int64_t left, int64_t stayed, bool asked) {
  return left >= pack_bytes_min && left >= stayed / (asked ? pack_share_asked : pack_share);
}

}  // namespace

TablePacker::TablePacker(Contents& contents, bool asked) : contents_(contents), engine_(contents.engine), asked_(asked) {}

bool TablePacker::has_room() const {
  return engine_.internals().space.has_room(DiskUse::background);
}

bool TablePacker::rewrite_rows(ChainStore& store, const std::function<bool()>& interrupted) {
  const StoreCounts counts = store.counters().get();
  bool any = false;
  // The packed table comes first, because its rows go to `records`, from which the next step takes them.
  if (thin(counts.thinned_packed_bytes, counts.raw_bytes, asked_)) any |= pack(store, true, interrupted);
  const int64_t settle_bytes = asked_ ? settle_bytes_asked : settle_bytes_min;
  if (counts.raw_bytes >= settle_bytes) engine_.checkpoint();  // The files show what is in them only after a checkpoint.
  const std::string& records = store.tables().records.name();
  const int64_t settled = engine_.file_bytes(records) - engine_.reusable_bytes(records);
  if (any || thin(counts.thinned_bytes, counts.raw_bytes, asked_) || settled >= settle_bytes) {
    learn(store);
    any |= pack(store, false, interrupted);
  }
  if (!interrupted()) any |= settle(store, interrupted);
  return any;
}

bool TablePacker::tidy(ChainStore& store, const std::function<bool()>& interrupted) {
  bool any = has_room() && rewrite_rows(store, [&] { return interrupted() || !has_room(); });
  if (interrupted()) return any;
  if (any) engine_.checkpoint();  // Until then the last checkpoint holds the space that was left.
  const StoreTables& tables = store.tables();
  for (const Table* table : {&tables.records, &tables.packed, &tables.heads, &tables.chains}) {
    if (interrupted()) return any;
    std::optional<PageCompressors::Thorough> thorough;
    if (table == &tables.chains) thorough.emplace(contents_.page_compressors, store.collection());
    any |= compact_if_worth(table->name());
    const bool settled = table == &tables.packed || table == &tables.chains;
    any |= asked_ && has_room() &&
           rewrite_if_worth(*table, interrupted, settled ? store.layout().settled_page_bytes : small_page_bytes);
  }
  return any;
}

bool TablePacker::pack(ChainStore& store, bool back, const std::function<bool()>& interrupted) {
  const Table& from = back ? store.tables().packed : store.tables().records;
  const Table& to = back ? store.tables().records : store.tables().packed;
  const StoreCounts before = store.counters().get();
  const int64_t thinned = back ? before.thinned_packed_bytes : before.thinned_bytes;
  const uint64_t unwritten_max = std::max(engine_.options().cache_bytes / settle_share, unwritten_bytes_min);
  uint64_t since_checkpoint = 0;
  bool any = false;
  Bytes position = record_key(record_id_min);
  for (;;) {
    if (interrupted()) return any;
    // A member whose writes aren't majority-committed can't write them yet, and each checkpoint would be in vain.
    if (since_checkpoint >= unwritten_max / 2 &&
        static_cast<uint64_t>(engine_statistic(engine_.internals().connection, WT_STAT_CONN_CACHE_BYTES_DIRTY)) >=
            unwritten_max) {
      engine_.checkpoint();
      since_checkpoint = 0;
    }
    Bytes reached;
    size_t bytes = 0;
    const auto between = engine_.internals().checkpointer.between_checkpoints();
    const size_t moved = in_transaction(engine_, [&](Transaction& transaction) {
      std::vector<std::pair<Bytes, Bytes>> rows;
      bytes = 0;
      {
        TableCursor cursor = from.cursor(transaction);
        for (bool on = cursor.seek(position); on && rows.size() < batch_rows && bytes < batch_bytes; on = cursor.next()) {
          rows.emplace_back(cursor.key(), cursor.value());
          bytes += rows.back().second.size();
        }
      }
      for (const auto& [key, row] : rows) {
        from.remove(transaction, key);
        to.put(transaction, key, row);
      }
      if (!rows.empty()) reached = rows.back().first;
      return rows.size();
    });
    if (moved == 0) break;
    since_checkpoint += bytes;
    any = true;
    packed_ += moved;
    position = reached + '\0';
    if (!back) store.set_packed_below(record_from_key(reached) + 1);
  }
  store.counters().add(back ? StoreCounts{.thinned_packed_bytes = -thinned} : StoreCounts{.thinned_bytes = -thinned});
  if (back) store.set_packed_below(0);
  return any;
}

// This function goes on from where it was interrupted. This thread's checkpoints write the pages before so many are changed that
// other threads must write them.
bool TablePacker::settle(ChainStore& store, const std::function<bool()>& interrupted) {
  if (engine_.options().block_compressor != "zstd" || store.layout().settled_level == level_fresh)
    return false;  // Without zstd, or at the same level, all pages are already alike.
  ChainStore::Settling& settling = store.settling();
  if (settling.from.empty()) {
    const StoreCounts counts = store.counters().get();
    if (asked_ ? counts.unsettled_bytes <= 0 : !thin(counts.unsettled_bytes, counts.chain_bytes, asked_)) return false;
    settling = {Bytes(1, '\0'), counts.unsettled_bytes};
  }
  const PageCompressors::Thorough thorough(contents_.page_compressors, store.collection());
  const uint64_t batches = std::max<uint64_t>(1, engine_.options().cache_bytes / settle_share / (batch_rows * touch_every_bytes));
  for (bool more = true; more;) {
    for (uint64_t i = 0; more && i < batches; ++i) {
      Bytes position;
      {
        const auto between = engine_.internals().checkpointer.between_checkpoints();
        more = in_transaction(engine_, [&](Transaction& transaction) {
          return touch(store.tables().chains, transaction, position = settling.from);
        });
      }
      settling.from = position;
      if (interrupted()) break;
    }
    engine_.checkpoint();
    if (more && interrupted()) return true;
  }
  store.counters().add({.unsettled_bytes = -settling.bytes});
  settling = {};
  return true;
}

// This function makes a dictionary for the pages that are about to be written, if there is none from such rows yet.
void TablePacker::learn(ChainStore& store) {
  if (!store.layout().dictionaries) return;
  PageCompressors& compressors = contents_.page_compressors;
  const int64_t bytes = store.counters().get().raw_bytes;
  const size_t known = compressors.dictionaries(store.collection());
  if (known >= dictionaries_max || bytes >> (learn_growth_bits * known) < learn_bytes_min) return;

  std::vector<Bytes> samples;
  size_t taken = 0;
  {
    // The transaction covers only the reading: training takes seconds, in which the engine would keep everything that is
    // overwritten.
    Transaction transaction(engine_, Transaction::Mode::read);
    for (const Table* table : {&store.tables().records, &store.tables().packed}) {
      TableCursor cursor = table->cursor(transaction);
      if (!cursor.previous()) continue;
      const RecordId last = record_from_key(cursor.key());
      if (!cursor.seek(record_key(record_id_min))) continue;
      const RecordId first = record_from_key(cursor.key());
      const RecordId step = std::max<RecordId>(1, (last - first) / static_cast<RecordId>(samples_max));
      for (bool on = true; on && taken < sample_bytes; on = cursor.seek(record_key(record_from_key(cursor.key()) + step))) {
        const auto row = parse_record_row(cursor.value(), record_from_key(cursor.key()));
        if (!row || row.value().form != RecordRow::Form::raw) continue;
        samples.emplace_back(row.value().content.substr(0, sample_row_bytes));
        taken += samples.back().size();
      }
    }
  }
  compressors.learn(store.collection(), samples,
                    static_cast<size_t>(std::clamp(bytes / dictionary_share, dictionary_bytes_min, dictionary_bytes_max)));
}

bool TablePacker::compact_if_worth(const std::string& table) {
  const int64_t file = engine_.file_bytes(table);
  const int64_t reusable = engine_.reusable_bytes(table);
  if (reusable < reusable_min || reusable < file / (asked_ ? reusable_share_asked : reusable_share)) return false;
  engine_.checkpoint();
  engine_.compact(table);
  engine_.checkpoint();
  ++compactions_;
  return engine_.file_bytes(table) < file;
}

// This function writes every page again: at first behind the other pages, and then into the space that those have left. A hole
// that no page fits into has no use: the pages would stay behind it, and the file would be twice as long.
bool TablePacker::rewrite_if_worth(const Table& table, const std::function<bool()>& interrupted, int64_t page_bytes) {
  const auto file_bytes = [&] { return engine_.file_bytes(table.name()); };
  const auto reusable_bytes = [&] { return engine_.reusable_bytes(table.name()); };
  const int64_t before = file_bytes(), reusable = reusable_bytes();
  const int64_t hole_min = std::min(page_bytes, (before - reusable) / 2);
  if (before > small_file_max) return false;  // The file may be twice as long for a while.
  if (reusable < std::max({small_reusable_min, before / small_reusable_share, hole_min})) return false;
  engine_.trim_files();
  int64_t best = before;
  bool again = true;
  for (int round = 0; again && round < rewrites_max; ++round) {
    Bytes position(1, '\0');
    for (bool more = true; more;) {
      if (interrupted()) return false;
      more = in_transaction(engine_, [&](Transaction& transaction) { return touch(table, transaction, position); });
    }
    engine_.checkpoint();
    engine_.trim_files();
    // If the hole in front stays too small for all pages, they move to and fro between its two sides.
    const int64_t file = file_bytes();
    again = file > best || (file < best && reusable_bytes() > file / 3);
    best = std::min(best, file);
  }
  ++compactions_;
  // Some pages found no place in front. Without this the next turn would compact the file and write it again, for ever.
  if (file_bytes() > before) compact_if_worth(table.name());
  return file_bytes() < before;
}

// This function puts rows again unchanged, at least one of each page, from `position` on. It returns false when it has reached
// the end.
bool TablePacker::touch(const Table& table, Transaction& transaction, Bytes& position) const {
  std::vector<std::pair<Bytes, Bytes>> rows;
  size_t bytes = touch_every_bytes;
  Bytes reached = position;
  bool on = false;
  {
    TableCursor cursor = table.cursor(transaction);
    for (on = cursor.seek(position); on && rows.size() < batch_rows; on = cursor.next()) {
      bytes += cursor.key().size() + cursor.value().size();
      if (bytes >= touch_every_bytes) {
        rows.emplace_back(cursor.key(), cursor.value());
        bytes = 0;
      }
      reached = Bytes(cursor.key()) + '\0';
    }
  }
  for (const auto& [key, row] : rows) table.put(transaction, key, row);
  position = reached;
  return on;
}

}  // namespace storage
