// The chain store keeps the contents of one collection: whole in their record's
// row, or as deltas in the chain table, and counts who is based on whom.
//
//   record 9   [ raw          ]<--+ head {chain 3, references 1}
//   record 5   [ stub -> 3    ]   |
//   record 3   [ stub -> 3    ]   |
//   chain 3    (3@g) delta --> (5@g) delta --> (9@g)
//
// What may happen to a content (dbDedup §5.1):
//   written back   its row becomes a stub, a delta against a newer content
//   updated        with references it moves to the chain table, based on its own
//                  successor; without, it is gone
//   removed        with references it stays in the chain table, dead; without,
//                  it is gone, and its base has one reference less
//   kept           updated where the past shows it, it stays in its record's row,
//                  as a delta of what replaced it. When there is no room, or the
//                  record is removed, all that are kept there move to one row of the
//                  chain table together, and stay until they are released
//   spliced out    what is based on a dead content is based on that one's base
//                  instead, until nothing is and it goes
//
// Every change of who is based on a content writes the row that counts the
// content's references, and so does whoever moves or drops the content: two
// transactions that would together leave a delta without its base conflict.
#pragma once

#include <vector>

#include "dedup/encoder.h"
#include "storage/contents/content_reader.h"
#include "storage/contents/row_past.h"

namespace storage {

enum class WriteBackResult {
  written,
  stale,  // a content is no longer what it was when the delta was made
  wrong,  // the delta does not make the target out of the base: a bug or damage, nothing was written
  no_gain,
};

// Thread-safe; transactions are not. All calls throw WriteConflict, and
// DataCorruptionDetected where a row can't be read.
class ChainStore {
 public:
  // `profile`: see page_layout.
  ChainStore(Contents& contents, CollectionId collection, const std::string& profile)
      : tables_(StoreTables::open(contents, collection, profile)), collection_(collection), layout_(page_layout(profile)) {}

  const StoreTables& tables() const { return tables_; }
  CollectionId collection() const { return collection_; }
  const PageLayout& layout() const { return layout_; }
  StoreCounters& counters() { return counters_; }
  const StoreCounters& counters() const { return counters_; }

  // --- what clients do
  void insert(Transaction& transaction, RecordId record, BytesView content, Stamp generation);
  // Throws NoSuchKey where there is no such record.
  Superseded update(Transaction& transaction, RecordId record, BytesView content, Stamp generation, Keep keep = {});
  Superseded remove(Transaction& transaction, RecordId record, Keep keep = {});
  // RecordStore::each_kept, drop_pre_states.
  void each_kept(Transaction& transaction, RecordId record, Stamp from, const std::function<bool(Stamp)>& visit) const;
  std::vector<std::pair<Stamp, Bytes>> drop_pre_states(Transaction& transaction, RecordId record);
  // Of what left a record's row together, `oldest` being the oldest of it, and is in its own chain: the newest of generation
  // `newest` or before; 0: there is none. Adds to `info`.
  Stamp read_kept(ContentReader& reader, RecordId record, Stamp oldest, Stamp newest, Bytes* content, ReadInfo* info) const;
  // The newest that a row has of generation `newest` or before; 0: it has none. The second gives the content, too, and adds to
  // `info`.
  Stamp pre_state_not_after(RecordId record, const RecordRow& row, Stamp newest) const {
    return pre_state_not_after(record, row.past.pre_states, row.generation, newest);
  }
  Stamp read_pre_state(Transaction& transaction, RecordId record, const RecordRow& row, Stamp newest, Bytes& out,
                       ReadInfo* info = nullptr) const;
  // The same of a list, out of the content that it is based on.
  Stamp pre_state(RecordId record, BytesView list, Stamp above, BytesView own, Stamp newest, Bytes& out,
                  ReadInfo* info = nullptr) const;
  void make_pre_state(RecordId record, const PreStateSearch& found, BytesView own, Bytes& out, ReadInfo* info) const;
  // All that a row has, or a list: as it is written, and what it stands for, newest first. Throw DataCorruptionDetected.
  RowPreStates pre_states(RecordId record, BytesView list, Stamp above) const;
  std::vector<std::pair<Stamp, Bytes>> pre_states_of(Transaction& transaction, RecordId record, const RecordRow& row) const;
  std::vector<std::pair<Stamp, Bytes>> pre_states_of(RecordId record, BytesView list, Stamp above, BytesView own) const;
  // RecordStore::release.
  std::vector<std::pair<Stamp, Bytes>> release(Transaction& transaction, const ChainKey& key);

  // The content a row stands for.
  Bytes content_of(Transaction& transaction, RecordId record, const RecordRow& row, ReadInfo* info = nullptr,
                   std::vector<ContentReader::Dead>* dead = nullptr, ContentReader* reader = nullptr) const;
  // One content by name: the record's own, or one retained in its chain.
  std::optional<Bytes> find(Transaction& transaction, const ContentName& name) const;
  // One that has a row in the chain table.
  std::optional<Bytes> find_in(Transaction& transaction, const ChainKey& key) const;
  // The same by a reader of this store, for who reads many. Adds to `info`.
  std::optional<Bytes> find_in(ContentReader& reader, const ChainKey& key, ReadInfo* info = nullptr) const;

  // --- what happens in the background; none of it changes what clients read
  // Keeps `target` as a delta, after checking everything that makes this safe:
  // both contents are still current, the base ranks above, and the delta, applied
  // in this transaction, gives the target byte for byte.
  WriteBackResult write_back(Transaction& transaction, const dedup::Backward& backward);

  // Takes `dead` out from under `dependent`, which gets another base or becomes
  // raw again. False: nothing to do, or not worth it.
  bool splice(Transaction& transaction, const ContentReader::Dead& dead);
  // The same for all that are known to be based on it, in whatever chain. One that
  // stands whole only goes when these are all: the highest takes its place.
  bool splice_out(Transaction& transaction, const ChainKey& dead, const std::vector<ChainKey>& dependents);

  // A head that was demoted stands whole in its row again. False: the record's content is something else by now: whole,
  // gone, or with another above it in its chain. `ordinal`: its place in the chain, where somebody remembers.
  bool promote(Transaction& transaction, RecordId record, std::optional<uint32_t> ordinal);

  // Where an encoder should see this content; nullopt: not the current one, or in no chain.
  std::optional<dedup::Placement> placement(Transaction& transaction, const ContentName& name) const;

  // Ids below are rather in `packed`: saves a look-up, nothing else.
  RecordId packed_below() const { return packed_below_.load(std::memory_order_relaxed); }
  void set_packed_below(RecordId id) { packed_below_.store(id, std::memory_order_relaxed); }

  // Where packing the chain table goes on, and what it is about; for whoever packs, one at a time.
  struct Settling {
    Bytes from;  // empty: it hasn't begun
    int64_t bytes = 0;
  };
  Settling& settling() { return settling_; }

 private:
  struct Current;  // a record's content, and who counts its references
  std::optional<Current> current(Transaction& transaction, RecordId record) const;
  Bytes read_chain(Transaction& transaction, const ChainKey& key) const;

  void put_row(Transaction& transaction, const Table& table, RecordId record, BytesView row) const;
  void claim_head(Transaction& transaction, RecordId record) const;
  void put_head(Transaction& transaction, RecordId record, const HeadRow& head, bool is_new, StoreCounts& change) const;
  void remove_head(Transaction& transaction, RecordId record, StoreCounts& change) const;
  void put_chain(Transaction& transaction, const ChainKey& key, const ChainRow& row, StoreCounts& change) const;
  // The same of a content that had no row there: it stood whole in its record's row.
  void add_chain(Transaction& transaction, const ChainKey& key, const ChainRow& row, StoreCounts& change) const;
  // The same where that isn't known. false, and nothing written: it has one.
  bool insert_chain(Transaction& transaction, const ChainKey& key, const ChainRow& row, StoreCounts& change) const;
  void remove_chain(Transaction& transaction, const ChainKey& key, StoreCounts& change) const;
  void add_reference(Transaction& transaction, const ChainKey& base, const dedup::Placement& placement,
                     StoreCounts& change) const;
  // Contents that are dead and lose their last reference go, and theirs with them.
  void drop_reference(Transaction& transaction, ChainKey base, StoreCounts& change) const;
  Superseded take_old(Transaction& transaction, RecordId record, Current& old) const;
  struct Turn;
  static ChainRow old_row(const Current& old, const Superseded& before);
  bool replace_base(Transaction& transaction, RecordId record, const Current& old, const Superseded& before, BytesView content,
                    Stamp generation, StoreCounts& change) const;
  void leave_head(Transaction& transaction, RecordId record, const Current& old, StoreCounts& change) const;
  void let_go(Transaction& transaction, const Current& old, bool keep, StoreCounts& change) const;
  // What becomes of a record's pre-states when `after` replaces its content, or nothing does.
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
