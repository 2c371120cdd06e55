// The records of one collection: contents by RecordId, however they are kept.
//
// A content is named by (collection, RecordId, generation), the generation being
// the stamp of the write that made it. Newest contents stand whole in the
// records table; contents that a later one made redundant are deltas in the
// chain table, ordered by chain, and their row here is a stub. Which it is never
// shows in what is read.
//
//   records   RecordId                 -> raw{generation, checksum, BSON}
//                                       | stub{generation, chain}, + what the past keeps of it {generation, delta} …
//   heads     RecordId                 -> {chain, ordinal, references}   raw rows that others are based on
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

// What a write did to the content that stood there before; `bytes` is that
// content, for whoever refers to it by name (the log).
struct Superseded {
  Stamp generation = 0;
  Bytes bytes;
  bool is_base = false;  // others are based on it

  // What the past keeps of the record.
  bool kept = false;     // this content, in the record's row or in a chain
  bool removed = false;  // the record is gone, and something is kept of it
  Stamp left_from =
      0;  // the oldest of the contents that this write moved from the row to the chain table, this one included; 0: none
  RecordId left_to = 0;                                 // the chain that they are in until `release`
  std::vector<std::pair<Stamp, Bytes>> forgotten = {};  // contents that were kept in the row, and are no more

  bool tells_past() const { return kept || removed || left_from != 0 || !forgotten.empty(); }
};

// What a write keeps for the past: 0, 0 nothing.
struct Keep {
  Stamp content = 0;  // the content that it replaces or removes, where that is of this generation or before
  Stamp shown = 0;  // and what the record's row keeps already, where the oldest of that is: the newest snapshot before the write

  Keep() = default;
  Keep(Stamp newest) : content(newest), shown(newest) {}
  Keep(Stamp of_content, Stamp newest) : content(of_content), shown(newest) {}
};

struct ReadInfo {            // how a read was answered, for explain and counters
  uint32_t hops = 0;         // deltas applied; those that a row has of its own content are applied as one
  uint64_t chain_bytes = 0;  // deltas read and contents made on the way
  bool lent = false;         // it is kept as a delta of another chain's content, as demoted heads are
};

// Thread-safe; transactions are not.
class RecordStore {
 public:
  // `profile`: of the collection; empty: the store's.
  RecordStore(Contents& contents, CollectionId collection, const std::string& profile = {});
  ~RecordStore();

  // `generation` comes from Transaction::next_stamp.
  RecordId insert(Transaction& transaction, BytesView content, Stamp generation);
  // Under an id that the caller gives out: nobody's, and never anybody's before.
  void insert_at(Transaction& transaction, RecordId id, BytesView content, Stamp generation);
  // The content, decoded and verified; nullopt: no such record. Throws
  // DataCorruptionDetected, naming the record, where its chain does not decode.
  std::optional<Bytes> find(Transaction& transaction, RecordId id, ReadInfo* info = nullptr);
  // The newest content of generation `newest` or before that the record's row has: its current one, or one that the past keeps
  // there. False: there is none.
  bool find_not_after(Transaction& transaction, RecordId id, Stamp newest, Bytes& content, ReadInfo* info = nullptr);
  // Its generation, likewise. `current` false: of what the past keeps, too.
  std::optional<Stamp> generation_not_after(Transaction& transaction, RecordId id, Stamp newest, bool current) const;
  // One generation by name, current or retained; nullopt once nothing keeps it.
  std::optional<Bytes> find(Transaction& transaction, RecordId id, Stamp generation);
  // Both keep the old content where another one is based on it (dbDedup §5.1), and where `keep` says so: in the record's row
  // while there is room, and then in the chain table until it is released.
  Superseded update(Transaction& transaction, RecordId id, BytesView content, Stamp generation, Keep keep = {});
  Superseded remove(Transaction& transaction, RecordId id, Keep keep = {});
  // A content that is kept in a chain; nullopt: it was released. Throws DataCorruptionDetected.
  std::optional<Bytes> find_kept(Transaction& transaction, RecordId id, Stamp generation, RecordId chain);
  // The generation of each that is kept in the record's own chain, oldest first, from `from` on; `visit` false ends it.
  void each_kept(Transaction& transaction, RecordId id, Stamp from, const std::function<bool(Stamp)>& visit) const;
  // Takes what is kept in the record's row out of it. Returns the contents.
  std::vector<std::pair<Stamp, Bytes>> drop_pre_states(Transaction& transaction, RecordId id);
  // What is kept there under this name, newest first: a content, and those that left the record's row with it. Empty: nothing.
  std::vector<std::pair<Stamp, Bytes>> release(Transaction& transaction, RecordId id, Stamp generation, RecordId chain);
  // Keeps `older` as a delta of `newer`, another record that is a version of the same thing and has a higher id, where that is
  // shorter. False: it stays as it is. After so many versions in a row one stays whole, so that none is far from one that is.
  bool keep_as_delta(Transaction& transaction, RecordId older, RecordId newer);

  RecordCursor cursor(Transaction& transaction, Direction direction = Direction::forward);

  RecordStoreStats stats() const;

  struct State;
  State& state() { return *state_; }  // storage/ only
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

  // Steps on; false at the end.
  bool next();
  // Stands before `id`'s successor in the cursor's direction: how a scan goes on in a later transaction.
  void seek_after(RecordId id);

  RecordId id() const;
  Stamp generation() const;
  bool whole() const;  // kept raw: content() costs no decoding
  // Valid until the cursor moves. Raw rows are read in place, without a copy.
  BytesView content();
  // RecordStore::generation_not_after of this row, and then the content that it is of.
  std::optional<Stamp> generation_not_after(Stamp newest);
  BytesView content_not_after(Stamp newest);
  // What all calls of content() took together.
  const ReadInfo& info() const;

 private:
  friend class RecordStore;
  struct State;
  explicit RecordCursor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace storage
