#include "replication/consensus/table_log_disk.h"

#include <algorithm>

#include "base/error.h"
#include "replication/consensus/log_rows.h"
#include "storage/engine/room.h"

namespace replication::consensus {
namespace {

using storage::Transaction;

constexpr size_t piece_bytes = 1 << 20;  // of entries, in one transaction

[[noreturn]] void missing(Index index) {
  throw base::OperationError(base::ErrorCode::data_corruption_detected,
                             "the raft log's entry " + std::to_string(index) + " is missing");
}

}  // namespace

// Entries are often deltas already, and go again soon: a fast compressor.
TableLogDisk::TableLogDisk(storage::Engine& engine, const std::string& table)
    : engine_(engine), table_(engine.open_table(table, {.block_compressor = "snappy", .always_journaled = true})) {}

Index TableLogDisk::last_index(Transaction& transaction) const {
  storage::TableCursor cursor = table_.cursor(transaction);
  if (!cursor.seek_back(entry_key(UINT64_MAX)) || cursor.key().size() != 9 || cursor.key()[0] != '\2') return 0;
  return index_of_key(cursor.key());
}

std::optional<LogImage> TableLogDisk::load() {
  try {
    return read_image();
  } catch (const base::OperationError& damage) {
    if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
    throw base::OperationError(damage.code(),
                               std::string("the set's log of this member is damaged: empty the data directory, so that this "
                                           "member copies the data of another one (") +
                                   damage.what() + ")");
  }
}

std::optional<LogImage> TableLogDisk::read_image() {
  Transaction transaction(engine_, Transaction::Mode::read);
  const std::optional<BytesView> value = table_.get(transaction, meta_key());
  if (!value) {
    if (last_index(transaction) != 0)
      throw base::OperationError(base::ErrorCode::data_corruption_detected, "the raft log's state is missing");
    return std::nullopt;
  }
  LogImage image;
  image.meta = decode_meta(*value).or_throw();
  compacted_ = image.meta.compacted.index;
  storage::TableCursor cursor = table_.cursor(transaction);
  for (bool on = cursor.seek(run_key(0)); on && cursor.key()[0] == '\1'; on = cursor.next()) {
    image.runs.push_back(decode_run(cursor.key(), cursor.value()).or_throw());
  }
  const Index first = image.meta.compacted.index + 1;
  image.last = std::max(image.meta.compacted.index, last_index(transaction));
  // Its ends must be there; what is missing between is noticed when it is read.
  if (image.last >= first) {
    for (Index index : {first, image.last}) {
      const std::optional<BytesView> row = table_.get(transaction, entry_key(index));
      if (!row) missing(index);
      const EntryPtr entry = decode_entry(entry_key(index), *row).or_throw();
      const auto after =
          std::find_if(image.runs.begin(), image.runs.end(), [&](const TermRun& run) { return run.first > index; });
      if (after == image.runs.begin() || std::prev(after)->term != entry->term) {
        throw base::OperationError(base::ErrorCode::data_corruption_detected,
                                   "the raft log's term of entry " + std::to_string(index) + " is missing");
      }
    }
  }
  return image;
}

// The term of the entry before `first`, where there is one.
std::optional<Term> TableLogDisk::term_before(Transaction& transaction, Index first) const {
  storage::TableCursor cursor = table_.cursor(transaction);
  if (!cursor.seek_back(run_key(first)) || cursor.key()[0] != '\1') return std::nullopt;
  return decode_run(cursor.key(), cursor.value()).or_throw().term;
}

void TableLogDisk::write_batch(Transaction& transaction, const LogBatch& batch, std::optional<Index> begins, Newest& newest) {
  if (batch.start_over) {
    table_.truncate(transaction, meta_key(), entry_key(UINT64_MAX));
    newest = {};
  } else if (begins) {
    // The first run is cut to where the log now begins: its row moves.
    std::optional<Term> kept;
    std::vector<Bytes> gone;
    {
      storage::TableCursor cursor = table_.cursor(transaction);
      for (bool on = cursor.seek(run_key(0)); on && cursor.key()[0] == '\1' && index_of_key(cursor.key()) <= *begins;
           on = cursor.next()) {
        kept = decode_run(cursor.key(), cursor.value()).or_throw().term;
        gone.emplace_back(cursor.key());
      }
    }
    for (const Bytes& key : gone) table_.remove(transaction, key);
    if (kept) table_.put(transaction, run_key(*begins), encode_run({*begins, *kept}));
    table_.truncate(transaction, entry_key(0), entry_key(*begins - 1));
    newest.term.reset();  // its run may be among those that went
  }
  if (!batch.entries.empty()) {
    const Index first = batch.entries.front()->index;
    std::optional<Term> term = newest.term;
    if (!newest.term || first <= newest.index) {
      table_.truncate(transaction, entry_key(first), entry_key(UINT64_MAX));
      table_.truncate(transaction, run_key(first), run_key(UINT64_MAX));
      term = term_before(transaction, first);
    }
    for (const EntryPtr& entry : batch.entries) {
      if (entry->term != term) table_.put(transaction, run_key(entry->index), encode_run({entry->index, entry->term}));
      term = entry->term;
      table_.put(transaction, entry_key(entry->index), encode_entry(*entry));
    }
    newest = {batch.entries.back()->index, term};
  }
  table_.put(transaction, meta_key(), encode_meta(batch.meta));
}

// On a nearly full disk earlier writes may have to get out of the cache first. So this function looks at the room again
// after each piece. Entries that this member has no room to apply would take the room that it has left.
void TableLogDisk::write_on(const std::vector<LogBatch>& batches, size_t& done) {
  for (auto from = batches.begin() + static_cast<ptrdiff_t>(done); from != batches.end();) {
    size_t bytes = 0;
    bool to_apply = false;
    auto to = from;
    while (to != batches.end() && bytes < piece_bytes) {
      for (const EntryPtr& entry : to->entries) bytes += entry->bytes();
      to_apply = to_apply || (to->follows && !to->entries.empty());
      ++to;
    }
    const uint64_t disk_bytes = 2 * bytes;  // in the journal and in the table
    if (storage::checkpoint_brings_room(engine_, disk_bytes)) storage::make_room_for_replay(engine_);
    if (to_apply) storage::require_room_for_replay(engine_, disk_bytes);
    write_some(from, to);
    from = to;
    done = static_cast<size_t>(to - batches.begin());
  }
  engine_.wait_durable();
}

void TableLogDisk::write_some(Batches from, Batches to) {
  Index compacted = compacted_;
  Newest newest = newest_;
  storage::in_transaction(engine_, [&](Transaction& transaction) {
    compacted = compacted_;
    newest = newest_;
    for (auto batch = from; batch != to; ++batch) {
      const Index upto = batch->meta.compacted.index;
      write_batch(transaction, *batch, upto > compacted ? std::optional(upto + 1) : std::nullopt, newest);
      compacted = upto;
    }
  });
  compacted_ = compacted;
  newest_ = newest;
}

std::vector<EntryPtr> TableLogDisk::read(Index low, Index high, uint64_t bytes_max) {
  std::vector<EntryPtr> out;
  Transaction transaction(engine_, Transaction::Mode::read);
  storage::TableCursor cursor = table_.cursor(transaction);
  uint64_t bytes = 0;
  for (bool on = cursor.seek(entry_key(low)); low < high; on = cursor.next(), ++low) {
    if (!on || index_of_key(cursor.key()) != low) missing(low);
    EntryPtr entry = decode_entry(cursor.key(), cursor.value()).or_throw();
    bytes += entry->bytes();
    if (bytes > bytes_max && !out.empty()) break;
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace replication::consensus
