// The record store keeps the records of one collection: it maps a RecordId to a content, in whatever form the content is
// stored.
//
// A content is named by (collection, RecordId, generation); the generation is the timestamp of the write that made it. The
// newest contents are whole in the records table. A content that a later one made redundant is a delta in the chain table,
// which is ordered by chain, and its row in the records table is a stub. Readers see no difference.
//
//   records   RecordId                 -> raw{generation, checksum, BSON}
//                                       | stub{generation, chain}, + pre-states {generation, delta} …
//   heads     RecordId                 -> {chain, ordinal, references}   raw rows that deltas are based on
//   chains    chain, RecordId, generation -> delta{base, length, checksum, instructions} | raw, + {references, dead}
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "storage/engine/table.h"

namespace storage {

class RecordCursor;
struct Contents;

struct RecordStoreStats {
  int64_t records = 0;
  int64_t logical_bytes = 0;  // of the contents that can be read
};

// Superseded describes what a write did to the content that it replaced or removed; `bytes` is that content, for callers that
// refer to it by name (the log).
struct Superseded {
  Stamp generation = 0;
  Bytes bytes;
  bool is_base = false;  // deltas are based on it

  // These fields say what is kept of the record for snapshots.
  bool kept = false;     // this content is kept, in the record's row or in a chain
  bool removed = false;  // the record is gone, and something may be kept of it
  // This write moved contents from the row to the chain table; left_from is the generation of the oldest, which may be this one;
  // 0: it moved none.
  Stamp left_from = 0;
  RecordId left_to = 0;                                 // the chain that they are in until `release`
  std::vector<std::pair<Stamp, Bytes>> forgotten = {};  // contents that the row kept and no longer keeps

  bool changes_past() const { return kept || removed || left_from != 0 || !forgotten.empty(); }
};

// Keep says what a write keeps for snapshots; with both fields 0 it keeps nothing.
struct Keep {
  // The write keeps the content that it replaces or removes if that has this generation or an earlier one.
  Stamp content = 0;
  // The write also keeps what the record's row keeps already if the oldest of that has this generation or an earlier one. It is
  // the newest snapshot before the write.
  Stamp shown = 0;

  Keep() = default;
  Keep(Stamp newest) : content(newest), shown(newest) {}
  Keep(Stamp of_content, Stamp newest) : content(of_content), shown(newest) {}
};

struct ReadInfo {            // how a read was answered, for explain and counters
  uint32_t hops = 0;         // deltas applied; all deltas in a row against its own content count as one
  uint64_t chain_bytes = 0;  // deltas read and contents decoded on the way
  bool lent = false;         // the content is a delta of another chain's content, as demoted heads are
};

// The store is thread-safe; transactions are not.
class RecordStore {
 public:
  // `profile` is the collection's; when it is empty, the store's default applies.
  RecordStore(Contents& contents, CollectionId collection, const std::string& profile = {});
  ~RecordStore();

  // The caller takes `generation` from Transaction::next_stamp.
  RecordId insert(Transaction& transaction, BytesView content, Stamp generation);
  // Inserts under an id that the caller assigns and that no record has or ever had.
  void insert_at(Transaction& transaction, RecordId id, BytesView content, Stamp generation);
  // Returns the content, decoded and verified; nullopt: there is no such record. Throws DataCorruptionDetected, which names the
  // record, when its chain doesn't decode.
  std::optional<Bytes> find(Transaction& transaction, RecordId id, ReadInfo* info = nullptr);
  // Finds the newest content with a generation up to `newest` that the record's row has: its current one, or a pre-state that
  // is kept there. Returns false when there is none.
  bool find_not_after(Transaction& transaction, RecordId id, Stamp newest, Bytes& content, ReadInfo* info = nullptr);
  // Returns that content's generation. With `current` false it considers pre-states, too.
  std::optional<Stamp> generation_not_after(Transaction& transaction, RecordId id, Stamp newest, bool current) const;
  // Finds one generation by name, current or retained; nullopt: nothing keeps it any more.
  std::optional<Bytes> find(Transaction& transaction, RecordId id, Stamp generation);
  // Both calls keep the old content if a delta is based on it (dbDedup §5.1), or if `keep` says so: in the record's row while
  // there is room, and then in the chain table until it is released.
  Superseded update(Transaction& transaction, RecordId id, BytesView content, Stamp generation, Keep keep = {});
  Superseded remove(Transaction& transaction, RecordId id, Keep keep = {});
  // Finds a content that is kept in a chain; nullopt: it was released. Throws DataCorruptionDetected.
  std::optional<Bytes> find_kept(Transaction& transaction, RecordId id, Stamp generation, RecordId chain);
  // Visits the generations that are kept in the record's own chain, oldest first, from `from` on, until `visit` returns false.
  void each_kept(Transaction& transaction, RecordId id, Stamp from, const std::function<bool(Stamp)>& visit) const;
  // Removes all pre-states from the record's row, and returns their contents.
  std::vector<std::pair<Stamp, Bytes>> drop_pre_states(Transaction& transaction, RecordId id);
  // Releases the content that is kept under this name and those that left the record's row with it; returns them, newest first.
  // The result is empty when nothing is kept there.
  std::vector<std::pair<Stamp, Bytes>> release(Transaction& transaction, RecordId id, Stamp generation, RecordId chain);
  // Stores `older` as a delta of `newer` if that is shorter; `newer` is another record with a higher id and is a version of the
  // same document. Returns false when `older` stays as it is. After a number of versions in a row one stays whole, so that
  // every version is near a whole one.
  bool keep_as_delta(Transaction& transaction, RecordId older, RecordId newer);

  RecordCursor cursor(Transaction& transaction, Direction direction = Direction::forward);

  RecordStoreStats stats() const;

  struct State;
  State& state() { return *state_; }  // only storage/ uses it
  const State& state() const { return *state_; }

 private:
  friend class RecordCursor;
  std::unique_ptr<State> state_;
};

// Walks the records in RecordId order.
class RecordCursor {
 public:
  RecordCursor(RecordCursor&&) noexcept;
  ~RecordCursor();

  // Steps to the next record; returns false at the end.
  bool next();
  // Places the cursor before `id`'s successor in its direction, so that a scan can go on in a later transaction.
  void seek_after(RecordId id);

  RecordId id() const;
  Stamp generation() const;
  bool whole() const;  // the content is stored raw: content() decodes nothing
  // The view is valid until the cursor moves. Raw rows are read in place, without a copy.
  BytesView content();
  // Returns RecordStore::generation_not_after of this row; the second call returns the content of that generation.
  std::optional<Stamp> generation_not_after(Stamp newest);
  BytesView content_not_after(Stamp newest);
  // Returns the cost of all calls of content() together.
  const ReadInfo& info() const;

 private:
  friend class RecordStore;
  struct State;
  explicit RecordCursor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace storage
