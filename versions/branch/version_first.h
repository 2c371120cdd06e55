// This is version-first (Decibel §3.3): each branch has a segment, chained to the one it was made from; there are no bitmaps.
//
// A state is a place in its branch's segment: it shows everything up to there, over everything up to the place in the parent's
// segment where the branch was made, and so on. Of several records with one key the newest counts. Two kinds of entries take a
// document away without being records of their own; they have RecordIds as well:
//
//   removed    a tombstone: the key
//   adopted    by a merge: the key, and the record of another branch that counts here
//
// Segments' numbers go up, so reading RecordIds backwards reads a lineage from its newest entry to its oldest. A transaction may
// be committed after one that has higher ids; a state remembers the few ids below its place that it doesn't show.
//
// Merges adopt records one by one, where the paper gives parents an order of precedence. One parent in front of the other can't
// express every merge of three sides; a chain of them can.
#pragma once

#include "base/mutex.h"
#include "versions/branch/branch_store.h"

namespace versions {

// A Stretch is a segment up to a place.
struct Stretch {
  Segment segment = 0;
  uint32_t limit = 0;
  std::shared_ptr<const Bitmap> hidden;  // ids up to the limit that the state doesn't show

  bool operator==(const Stretch& other) const {
    return segment == other.segment && limit == other.limit && *hidden == *other.hidden;
  }
};

struct Lineage {
  std::vector<Stretch> stretches;  // newest first: segments go down
  bool adopted = false;            // whether an entry of some merge is in it

  const Stretch* stretch(Segment segment) const;
  bool has(RecordId id) const;
};

class VersionFirst : public BranchStore {
 public:
  explicit VersionFirst(StoreParts parts) : BranchStore(std::move(parts), {"states", "entries"}), lineages_(8 << 20) {}

  void begin(Transaction& transaction, State state, RecordId newest) override;
  bool shows(Transaction& transaction, const View& view, RecordId record) override;
  RecordId find(Transaction& transaction, const View& view, BytesView key) override;
  std::unique_ptr<Scan> scan(Transaction& transaction, const View& view) override;
  // Takes one pass if no merge is in the views' lineages; else two, of which the first reads keys and places alone (§3.3).
  std::unique_ptr<ManyScan> scan_many(Transaction& transaction, const std::vector<View>& views) override;
  Difference diff(Transaction& transaction, const View& a, const View& b) override;
  // Throws IllegalOperation: all that is in a branch's segment belongs to the branch.
  void drop(Transaction& transaction, const View& view, Stamp stamp) override;
  bool same_line(Transaction&, State, State) override { return true; }

 protected:
  void now_hidden(Transaction& transaction, const View& view, BytesView key, RecordId record) override;
  // Returns always true: only the content would show it.
  bool names(Transaction&, State, RecordId) override { return true; }
  bool leaves_out() const override { return false; }
  void save_state(Transaction& transaction, const View& view, State state, const RecordSet& added,
                  const RecordSet& removed) override;
  void save_adoption(Transaction& transaction, const View& view, State state, const Adoption& adoption, const RecordSet& added,
                     const RecordSet& removed) override;
  void discarded(Transaction& transaction, const View& view) override;
  RecordId last_of(Transaction& transaction, Segment segment) override;
  void forgotten(Transaction& transaction, RecordId record) override {
    entries().remove(transaction, storage::record_key(record));
  }

 private:
  struct Row {
    Stretch stretch;
    State start = 0;  // the state that the segment begins over
    bool adopted = false;
  };
  const Table& states() const { return more_[0]; }
  const Table& entries() const { return more_[1]; }
  Row row(Transaction& transaction, State state) const;
  void put_row(Transaction& transaction, State state, const Row& row) const;
  std::shared_ptr<const Lineage> lineage(Transaction& transaction, State state);
  std::shared_ptr<const Lineage> lineage(Transaction& transaction, const View& view);
  void put_entry(Transaction& transaction, const View& view, BytesView key, RecordId adopted);
  void close(Transaction& transaction, const View& view, State state, bool adopted);
  void keys_between(Transaction& transaction, Segment segment, uint32_t first, uint32_t last,
                    const std::function<void(BytesView)>& each);

  base::Mutex mutex_;
  base::Lru<State, std::shared_ptr<const Lineage>> lineages_ GUARDED_BY(mutex_);
};

}  // namespace versions
