// The chain store keeps the contents of one collection, either whole in their record's row or as deltas in the chain table. It
// also counts how many deltas are based on each content.
//
//   record 9   [ raw          ]<--+ head {chain 3, references 1}
//   record 5   [ stub -> 3    ]   |
//   record 3   [ stub -> 3    ]   |
//   chain 3    (3@g) delta --> (5@g) delta --> (9@g)
//
// A content can go through these changes (dbDedup §5.1):
//   written back   its row becomes a stub, and the content a delta against a newer content
//   updated        if deltas are based on it, it moves to the chain table as a delta
//                  against its successor; otherwise it is removed
//   removed        if deltas are based on it, it stays in the chain table as a dead
//                  content; otherwise it goes, and its base loses one reference
//   kept           if a snapshot shows it when it is updated, it stays in its record's
//                  row as a delta against the content that replaced it; when the row has no
//                  room, or the record is removed, all contents that are kept there move
//                  together to one row of the chain table, until they are released
//   spliced out    the deltas based on a dead content are based on its own base
//                  instead; once none is left, the dead content is removed
//
// A transaction that changes which content a delta is based on writes the row that counts the base's references. A transaction
// that moves or removes a content writes that row, too. So two transactions that together would leave a delta without its base
// conflict.
#pragma once

#include <vector>

#include "dedup/encoder.h"
#include "storage/contents/content_reader.h"
#include "storage/contents/row_past.h"

namespace storage {

enum class WriteBackResult {
  written,
  stale,  // a content has changed since the delta was made
  wrong,  // the delta doesn't make the target out of the base: a bug or damage; nothing was written
  no_gain,
};

// The store is thread-safe; transactions are not. All calls throw WriteConflict, and they throw DataCorruptionDetected when a
// row can't be read.
class ChainStore {
 public:
  // page_layout explains `profile`.
  ChainStore(Contents& contents, CollectionId collection, const std::string& profile)
      : tables_(StoreTables::open(contents, collection, profile)), collection_(collection), layout_(page_layout(profile)) {}

  const StoreTables& tables() const { return tables_; }
  CollectionId collection() const { return collection_; }
  const PageLayout& layout() const { return layout_; }
  StoreCounters& counters() { return counters_; }
  const StoreCounters& counters() const { return counters_; }

  // --- Clients cause these calls.
  void insert(Transaction& transaction, RecordId record, BytesView content, Stamp generation);
  // Throws NoSuchKey when there is no such record.
  Superseded update(Transaction& transaction, RecordId record, BytesView content, Stamp generation, Keep keep = {});
  Superseded remove(Transaction& transaction, RecordId record, Keep keep = {});
  // RecordStore::each_kept and RecordStore::drop_pre_states describe these two calls.
  void each_kept(Transaction& transaction, RecordId record, Stamp from, const std::function<bool(Stamp)>& visit) const;
  std::vector<std::pair<Stamp, Bytes>> drop_pre_states(Transaction& transaction, RecordId record);
  // Several contents left a record's row together and are in the record's own chain; `oldest` names the oldest of them. This
  // call reads the newest one with a generation up to `newest`, and returns its generation, or 0 if there is none. It adds to
  // `info`.
  Stamp read_kept(ContentReader& reader, RecordId record, Stamp oldest, Stamp newest, Bytes* content, ReadInfo* info) const;
  // Both calls find the newest pre-state of a row with a generation up to `newest`; they return its generation, or 0 if there
  // is none. The second call also makes the content and adds to `info`.
  Stamp pre_state_not_after(RecordId record, const RecordRow& row, Stamp newest) const {
    return pre_state_not_after(record, row.past.pre_states, row.generation, newest);
  }
  Stamp read_pre_state(Transaction& transaction, RecordId record, const RecordRow& row, Stamp newest, Bytes& out,
                       ReadInfo* info = nullptr) const;
  // These two calls do the same for a list of pre-states; `own` is the content that the list is based on.
  Stamp pre_state(RecordId record, BytesView list, Stamp above, BytesView own, Stamp newest, Bytes& out,
                  ReadInfo* info = nullptr) const;
  void make_pre_state(RecordId record, const PreStateSearch& found, BytesView own, Bytes& out, ReadInfo* info) const;
  // These calls return all pre-states of a row or of a list, newest first: the first call as they are written, the others
  // decoded. They throw DataCorruptionDetected.
  RowPreStates pre_states(RecordId record, BytesView list, Stamp above) const;
  std::vector<std::pair<Stamp, Bytes>> pre_states_of(Transaction& transaction, RecordId record, const RecordRow& row) const;
  std::vector<std::pair<Stamp, Bytes>> pre_states_of(RecordId record, BytesView list, Stamp above, BytesView own) const;
  // RecordStore::release describes this call.
  std::vector<std::pair<Stamp, Bytes>> release(Transaction& transaction, const ChainKey& key);

  // Returns the content that a row stands for.
  Bytes content_of(Transaction& transaction, RecordId record, const RecordRow& row, ReadInfo* info = nullptr,
                   std::vector<ContentReader::Dead>* dead = nullptr, ContentReader* reader = nullptr) const;
  // Finds one content by name: the record's own, or one that its chain retains.
  std::optional<Bytes> find(Transaction& transaction, const ContentName& name) const;
  // Finds one content that has a row in the chain table.
  std::optional<Bytes> find_in(Transaction& transaction, const ChainKey& key) const;
  // Callers that read many contents pass a reader of this store. The call adds to `info`.
  std::optional<Bytes> find_in(ContentReader& reader, const ChainKey& key, ReadInfo* info = nullptr) const;

  // --- Background work causes these calls; none of them changes what clients read.
  // Stores `target` as a delta, after it has checked everything that makes this safe: both contents are still current, the base
  // ranks above the target, and the delta makes the target byte for byte in this transaction.
  WriteBackResult write_back(Transaction& transaction, const dedup::Backward& backward);

  // Gives `dependent` another base than `dead`, or makes it raw again. Returns false when there is nothing to do or it isn't
  // worth the cost.
  bool splice(Transaction& transaction, const ContentReader::Dead& dead);
  // Does the same for all contents that are known to be based on `dead`, in whatever chain. A dead content that is whole goes
  // only if `dependents` are all of them: the highest of them then takes its place.
  bool splice_out(Transaction& transaction, const ChainKey& dead, const std::vector<ChainKey>& dependents);

  // Stores a demoted head whole in its row again. Returns false when the record's content has changed: it is whole or gone, or
  // another content stands above it in its chain. `ordinal` is its place in the chain, if the caller remembers it.
  bool promote(Transaction& transaction, RecordId record, std::optional<uint32_t> ordinal);

  // Returns the place in its chain that an encoder should assume for this content; nullopt: it isn't current, or is in no
  // chain.
  std::optional<dedup::Placement> placement(Transaction& transaction, const ContentName& name) const;

  // Records with lower ids are more likely in `packed`; the hint only saves a look-up.
  RecordId packed_below() const { return packed_below_.load(std::memory_order_relaxed); }
  void set_packed_below(RecordId id) { packed_below_.store(id, std::memory_order_relaxed); }

  // These fields say where the packing of the chain table goes on, and for how many bytes. Only one thread packs at a time.
  struct Settling {
    Bytes from;  // empty: packing hasn't begun
    int64_t bytes = 0;
  };
  Settling& settling() { return settling_; }

 private:
  struct Current;  // a record's content, and the row that counts its references
  std::optional<Current> current(Transaction& transaction, RecordId record) const;
  Bytes read_chain(Transaction& transaction, const ChainKey& key) const;

  void put_row(Transaction& transaction, const Table& table, RecordId record, BytesView row) const;
  void claim_head(Transaction& transaction, RecordId record) const;
  void put_head(Transaction& transaction, RecordId record, const HeadRow& head, bool is_new, StoreCounts& change) const;
  void remove_head(Transaction& transaction, RecordId record, StoreCounts& change) const;
  void put_chain(Transaction& transaction, const ChainKey& key, const ChainRow& row, StoreCounts& change) const;
  // Does the same for a content that had no row there because it was whole in its record's row.
  void add_chain(Transaction& transaction, const ChainKey& key, const ChainRow& row, StoreCounts& change) const;
  // Does the same when it is unknown whether there is a row. Returns false, and writes nothing, when there is one.
  bool insert_chain(Transaction& transaction, const ChainKey& key, const ChainRow& row, StoreCounts& change) const;
  void remove_chain(Transaction& transaction, const ChainKey& key, StoreCounts& change) const;
  void add_reference(Transaction& transaction, const ChainKey& base, const dedup::Placement& placement,
                     StoreCounts& change) const;
  // A dead content that loses its last reference is removed, and so are dead contents that only it referred to.
  void drop_reference(Transaction& transaction, ChainKey base, StoreCounts& change) const;
  Superseded take_old(Transaction& transaction, RecordId record, Current& old) const;
  struct Turn;
  static ChainRow old_row(const Current& old, const Superseded& before);
  bool replace_base(Transaction& transaction, RecordId record, const Current& old, const Superseded& before, BytesView content,
                    Stamp generation, StoreCounts& change) const;
  void leave_head(Transaction& transaction, RecordId record, const Current& old, StoreCounts& change) const;
  void let_go(Transaction& transaction, const Current& old, bool keep, StoreCounts& change) const;
  // Decides what becomes of a record's pre-states when `after` replaces its content, or when a removal does (nullptr).
  Turn turn_over(RecordId record, const Current& old, const BytesView* after, Stamp generation, Keep keep,
                 Superseded& before) const;
  void put_group(Transaction& transaction, RecordId record, const Turn& turn, const Superseded& before,
                 StoreCounts& change) const;
  Stamp pre_state_not_after(RecordId record, BytesView list, Stamp above, Stamp newest) const;
  int64_t& thinned(const Table& table, StoreCounts& change) const {
    return &table == &tables_.packed ? change.thinned_packed_bytes : change.thinned_bytes;
  }
  void stand_whole(Transaction& transaction, const ChainKey& key, const ChainRow& row, BytesView content, uint64_t references,
                   StoreCounts& change) const;

  StoreTables tables_;
  CollectionId collection_;
  PageLayout layout_;
  StoreCounters counters_;
  std::atomic<RecordId> packed_below_{0};
  Settling settling_;
};

}  // namespace storage
