// A BranchStore is one collection on all its branches: it knows where records lie, and which branch shows which of them.
//
// Records of all branches lie in one RecordStore, and are never moved or copied when a branch is made or merged. A branch shows
// the records of its last commit, and what was written on it since:
//
//   view = committed state, less what was removed, with what was added since
//
// Writes since the last commit are rows of their own (`pending`), so that writers of one branch meet only where they touch the
// same document. A commit folds the rows that it sees into a state. An update of a committed record makes a new record, and the
// old one is kept as a delta of it if the delta is shorter. A record that was added since the last commit is changed in its
// place.
//
// There are three layouts (Decibel §3). They differ in the segments that records lie in, and in how a state says what it shows.
// docs/design/0005-branches.md.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "storage/contents/record_store.h"
#include "versions/branch/commit_history.h"
#include "versions/branch/document_hash.h"
#include "versions/branch/pending_rows.h"
#include "versions/branch/state_past.h"

namespace versions {

using storage::Engine;
using storage::RecordStore;
using storage::TableCursor;

enum class Layout : uint8_t {
  tuple_first,           // one heap for all branches; each branch has a bitmap
  tuple_first_by_tuple,  // one heap for all branches; each record has a row of bits, one for each branch
  version_first,         // each branch has a segment, chained to the one it was made from; there are no bitmaps
  hybrid,                // each branch has a segment, frozen when another branch is made from it; there are bitmaps
};

// A View says what is read and where writes go. It is valid for one transaction: the branch may be another one in the next.
struct View {
  State state = 0;
  BranchId branch = BranchId::none;  // none: the view is of the state alone, and read-only
  Segment segment = 0;               // the branch's new records go there
};

// A Scan walks over the records that a view shows. It gives each record once, in an order that depends on the layout.
class Scan {
 public:
  virtual ~Scan() = default;
  virtual bool next() = 0;
  virtual RecordId record() const = 0;
  virtual BytesView content() = 0;  // valid until the scan moves
};

// A ManyScan walks over the records of many views at once. It gives each record once, with the views that show it.
class ManyScan : public Scan {
 public:
  // Each view has one bit, by its place in the list; a word has 64.
  virtual const std::vector<uint64_t>& shown_in() const = 0;
};

// The records that one of two views shows and the other doesn't: the positive and the negative difference (Decibel §2.2.3).
struct Difference {
  RecordSet only_a, only_b;
};

// A version of one document.
struct Version {
  RecordId record = 0;
  // The version came with the commit of this number; 0: it isn't committed, or it was there before the first commit.
  uint64_t commit = 0;
};

// Says which of the writes since a branch's last commit the next commit contains, by their timestamps. On the primary these are
// the writes that the commit's transaction sees. On a member that replays the commit, later writes may be there too: those of
// transactions that were open when the commit was made.
struct Held {
  Stamp below = ~Stamp{0};         // all writes with lower timestamps
  std::vector<Stamp> others = {};  // and the writes with these timestamps, in ascending order

  bool has(Stamp stamp) const;
  bool operator==(const Held&) const = default;
};

// The timestamp of a change that the transaction will log. The transaction takes some timestamps at once, so that no other
// transaction gets one between them.
inline Stamp change_stamp(Transaction& transaction) {
  transaction.expect_stamps(8);
  return transaction.write_stamp();
}

// A row that is no longer pending. Declared snapshots may show it.
struct GoneRow {
  RecordId record = 0;
  char kind = 0;  // the row's first byte
  Stamp since = 0;
};
using Gone = std::vector<GoneRow>;

// Stopped says which writers must wait for a commit. A writer that changes a pending record in its place conflicts with the
// commit that folds it, and without a stop the longer transaction would always lose (BranchStore::stop_writers).
enum class Stopped : uint8_t {
  changes,  // writers that change documents which are pending already
  writes,   // all writers of the branch
};

// Folded is what a commit folded into its state.
struct Folded {
  State state = 0;  // the branch's new state; the old one if nothing was pending
  std::optional<Listing> listing = {};
  std::vector<DocumentHash> changes = {};  // in no order; a replaced document has two: its new hash, and its old one
  Held held;                               // the writes that were pending and are folded
  Gone gone;                               // must be saved (BranchStore::save)
};

// Looks up a record from before the first branch by its key; 0: there is none. The collection's own `_id` index answers, since it
// keeps an entry for each of these records.
using FirstRecords = std::function<RecordId(Transaction&, BytesView key)>;

struct StoreParts {
  Engine& engine;
  storage::CollectionId collection;
  RecordStore& records;
  FirstRecords first_records;
  StatePast* past = nullptr;  // nullptr: there are no snapshots
};

// Thread-safe; transactions are not. All data is in tables, and written in the caller's transaction; what is in memory may be
// lost. What goes over many rows can be interrupted (storage::InterruptibleWaits). The caller then rolls the transaction back, as
// after a WriteConflict, and nothing has changed.
class BranchStore {
 public:
  // Opens the tables, or makes them. Must not be called inside a transaction.
  static std::unique_ptr<BranchStore> open(Layout layout, StoreParts parts);
  virtual ~BranchStore() = default;
  BranchStore(const BranchStore&) = delete;
  BranchStore& operator=(const BranchStore&) = delete;

  // Makes the collection's first state: it shows every record up to `newest`, however many of them exist. It neither reads nor
  // copies any. Nobody else may write to the collection meanwhile.
  virtual void begin(Transaction& transaction, State state, RecordId newest) = 0;

  // --- reads
  virtual bool shows(Transaction& transaction, const View& view, RecordId record) = 0;
  // The record that has the key in this view; 0: there is none.
  virtual RecordId find(Transaction& transaction, const View& view, BytesView key);
  std::optional<Bytes> get(Transaction& transaction, const View& view, BytesView key);
  std::optional<Bytes> content(Transaction& transaction, RecordId record) { return parts_.records.find(transaction, record); }
  // The view of a branch whose last commit has this state.
  View view_of(Transaction& transaction, State committed, BranchId branch, Segment segment);
  virtual std::unique_ptr<Scan> scan(Transaction& transaction, const View& view) = 0;
  virtual std::unique_ptr<ManyScan> scan_many(Transaction& transaction, const std::vector<View>& views) = 0;
  virtual Difference diff(Transaction& transaction, const View& a, const View& b) = 0;
  // Walks over the records of a set, in the order of their ids.
  std::unique_ptr<Scan> scan_set(Transaction& transaction, RecordSet set);
  // All versions of the document, of whatever branch, the newest record first.
  std::vector<Version> history(Transaction& transaction, BytesView key);

  // --- writes, on branches
  // Throws DuplicateKey if the view shows a document with this key.
  RecordId insert(Transaction& transaction, const View& view, BytesView document, Stamp generation);
  // `old` is the record that the view shows under the document's key. Returns the record that the view shows from now on.
  // `superseded` receives the content that is no longer stored; its generation is 0 if the old record stays, because other views
  // may show it.
  RecordId update(Transaction& transaction, const View& view, RecordId old, BytesView document, Stamp generation,
                  storage::Superseded* superseded = nullptr);
  // `stamp` is the removal's timestamp. Commits tell removals apart by it, as they tell writes apart by their generations.
  void remove(Transaction& transaction, const View& view, BytesView key, RecordId old, Stamp stamp,
              storage::Superseded* superseded = nullptr);

  // --- versions
  struct Pending {
    RecordSet added, removed;
    std::vector<Bytes> removed_keys;                   // in the order of their records; empty if the row doesn't have the key
    Held held;                                         // contains just these writes
    std::vector<std::pair<Bytes, Bytes>> others = {};  // rows of the writes that `held` doesn't contain
    std::optional<Listing> listing = {};
    Gone gone = {};  // the rows as they will be when they are no longer pending
    bool empty() const { return added.empty() && removed.empty() && !listing; }
  };
  // `held` restricts the answer to these writes; nullptr: it covers all.
  Pending pending(Transaction& transaction, BranchId branch, const Held* held = nullptr);
  bool has_pending(Transaction& transaction, BranchId branch);
  // The timestamp of the pending write that added the record, or last changed it; nullopt: the branch has no such write.
  std::optional<Stamp> added_at(Transaction& transaction, BranchId branch, RecordId record);
  // `held` is as for pending().
  std::optional<Listing> listing(Transaction& transaction, BranchId branch, const Held* held = nullptr);
  // The branch has the collection from now on, with what it shows of it.
  void make(Transaction& transaction, BranchId branch, Stamp stamp);
  // The branch shows nothing of the collection any more. Nobody else may write to the collection there, or commit the branch,
  // meanwhile.
  virtual void drop(Transaction& transaction, const View& view, Stamp stamp);
  // Makes what is pending on `from` pending on `into` instead. Everything pending on `from` must be added, and `into` must show
  // nothing. Nobody else may write to the collection on either, or commit either, meanwhile.
  void take(Transaction& transaction, const View& into, const View& from, Stamp stamp);
  // Folds what is pending into `state`, which is a new number and the commit's. `held` is as for pending(). Version-first can't
  // leave out any write, and throws IllegalOperation.
  Folded commit(Transaction& transaction, const View& view, State state, const Held* held = nullptr);
  // Writers to the branch conflict as long as a share of the result lives.
  [[nodiscard]] std::shared_ptr<void> stop_writers(BranchId branch, Stopped what);
  // Saves rows that are no longer pending for declared snapshots, once the timestamp of the change is known.
  void save(Transaction& transaction, BranchId branch, const Gone& gone, Stamp write);
  // An Adoption is what a merge decided. The first record of each pair in `adopted` and `written` is the key of the document.
  struct Adoption {
    std::vector<std::pair<Bytes, RecordId>> adopted;  // key -> a record that another branch or commit shows
    RecordSet removed;                                // the branch shows these records until now
    std::vector<std::pair<Bytes, Bytes>> written;     // key -> a content that no branch has yet
    bool empty() const { return adopted.empty() && removed.empty() && written.empty(); }
  };
  // The documents that a tree begins and ceases to name, though nobody has them, because they were purged on another server. The
  // state names them as if they had been purged here: later commits, packs and checks ask the state.
  struct Named {
    std::vector<Bytes> added, removed;  // keys
    bool empty() const { return added.empty() && removed.empty(); }
  };
  // Writes the adoption over the branch's state; it contains nothing that is pending. Another transaction that touches one of
  // these documents at the same time conflicts. `interrupted` is called at each document, and may throw.
  void adopt(Transaction& transaction, const View& view, State state, const Adoption& adoption, const Named& named,
             Stamp generation, const std::function<void()>& interrupted = {});
  // The branch shows this state from now on. Nothing may be pending. Another transaction that touches a document which this
  // changes conflicts.
  void advance(Transaction& transaction, const View& view, State to);
  // Takes back what is pending. Nobody else may write to the branch meanwhile; the same holds for the next two.
  void discard(Transaction& transaction, const View& view);
  // Returns whether the lines of two states have the same beginning. A line begins with the first commit, or where a branch makes
  // the collection. State 0, which shows nothing, is a line of its own.
  virtual bool same_line(Transaction& transaction, State a, State b) = 0;
  // The branch shows this state from now on (opened), or it shows nothing any more (closed).
  virtual void opened(Transaction& transaction, BranchId branch, State state);
  virtual void closed(Transaction& transaction, const View& view);

  // --- what goes from history
  // Called for each content that is no longer stored, before it goes.
  using Lost = std::function<void(RecordId, Stamp generation, BytesView content)>;
  // The records of the set that at least one of the states shows.
  virtual RecordSet shown_by_any(Transaction& transaction, const std::vector<State>& states, const RecordSet& records);
  // Removes records that no branch shows, and no state that is still read. Returns their number.
  uint64_t free(Transaction& transaction, const RecordSet& records, const Lost& lost);
  // Removes every version of a document, whoever shows it. `branches` must list all branches. States go on naming these versions,
  // and so do the trees of their commits. Returns the number of versions.
  uint64_t purge(Transaction& transaction, BytesView key, const std::vector<BranchId>& branches, const Lost& lost);
  bool purged(Transaction& transaction, RecordId record);
  // Writes the entry of a version. `commit`: see Version.
  void put_entry(Transaction& transaction, BytesView key, RecordId record, uint64_t commit);
  // Removes an entry that leads to no version of the key. `gone`: it leads to no version at all, and is treated as if that were
  // purged.
  void remove_entry(Transaction& transaction, BytesView key, RecordId record, bool gone, const std::vector<BranchId>& branches);
  // Documents that the state, and so the trees of commits with it, still names, though they were purged since.
  struct Purged {
    RecordSet records;
    std::vector<Bytes> keys;
  };
  // With `among`, it returns only documents with one of these keys.
  using KeySet = std::unordered_set<BytesView>;
  Purged purged_of(Transaction& transaction, State state, const KeySet* among = nullptr);
  // All purged records, whoever showed them.
  RecordSet purged_records(Transaction& transaction);
  // Those of them whose keys are known.
  void each_purged(Transaction& transaction, const std::function<void(RecordId, BytesView key)>& each);

  // A repair asks for the history of this collection's states, and for the name of its table. A layout that doesn't keep one
  // returns nullptr and an empty name.
  virtual CommitHistory* states() { return nullptr; }
  virtual std::string states_table() const { return {}; }
  // The name of the table that says what branches show beyond their last commits.
  const std::string& pending_table() const { return pending_.name(); }

  std::vector<std::string> table_names() const;

 protected:
  BranchStore(StoreParts parts, const std::vector<std::string>& more_tables);

  std::optional<PendingKind> pending_kind(Transaction& transaction, BranchId branch, RecordId record);
  // Must be called before a pending row, or the record that it added, changes or goes. Returns up to which generation contents
  // must be kept for snapshots.
  Stamp keep_row(Transaction& transaction, BranchId branch, RecordId record, Stamp write);
  // The timestamp of a change that is logged when it is done; 0: no snapshot needs it.
  Stamp stamp_of(Transaction& transaction) const { return parts_.past ? change_stamp(transaction) : 0; }
  Stamp shown_before(Stamp write) const { return parts_.past ? parts_.past->shown_before(write) : 0; }
  void save_content(Transaction& transaction, RecordId record, const storage::Superseded& before, Stamp write) {
    if (before.changes_past()) parts_.past->save_content(transaction, record, before, write);
  }
  // Gives out a place for a new record, or for what a layout keeps instead of a record.
  RecordId allocate(Transaction& transaction, Segment segment);

  // Hooks for what a layout does, beside the pending row, when a branch begins or stops to show a record. `key` is that of a
  // removed document; it is empty if another record takes the removed one's place.
  virtual void now_shown(Transaction&, BranchId, RecordId) {}
  virtual void now_hidden(Transaction&, const View&, BytesView key, RecordId) { (void)key; }
  // Returns whether the state names the record, whose content may be gone.
  virtual bool names(Transaction& transaction, State state, RecordId record) {
    return shows(transaction, {.state = state}, record);
  }
  // Returns whether a state can leave out some of the pending writes.
  virtual bool leaves_out() const { return true; }
  virtual void save_state(Transaction& transaction, const View& view, State state, const RecordSet& added,
                          const RecordSet& removed) = 0;
  // `added` and `removed` are the records of the adoption, and those that stand for what is named.
  virtual void save_adoption(Transaction& transaction, const View& view, State state, const Adoption&, const RecordSet& added,
                             const RecordSet& removed) {
    save_state(transaction, view, state, added, removed);
  }
  virtual void discarded(Transaction&, const View&) {}
  // Hook: a record, or what a layout keeps instead of one, no longer exists, whatever states name.
  virtual void forgotten(Transaction&, RecordId) {}
  // The highest place that was given out in the segment, as its tables show.
  virtual RecordId last_of(Transaction& transaction, Segment segment);
  RecordId last_given_out(Transaction& transaction, Segment segment);  // with the purged ones

  // Walks over the entries of one key, the newest record first. `each` returns the id below which the walk goes on: the record's
  // own id for the next entry, 0 to stop.
  void each_entry(Transaction& transaction, BytesView key, const std::function<RecordId(RecordId, BytesView value)>& each);
  static Bytes entry_key(BytesView key, RecordId record);

  StoreParts parts_;
  Table keys_;     // key, RecordId -> commit
  Table pending_;  // branch, RecordId -> kind
  std::vector<Table> more_;

 private:
  // Another transaction that inserts the key on the branch at the same time conflicts.
  void claim(Transaction& transaction, BranchId branch, BytesView key);
  // Another transaction that writes to the branch what this removes from it, or adds to it, conflicts.
  void hide(Transaction& transaction, const View& view, const RecordSet& removed);
  void claim_new(Transaction& transaction, TableCursor& entries, BranchId branch, BytesView key, const RecordSet& removed);
  // Returns whether one of the removed records has the key. It may miss an old one.
  bool takes_the_place(Transaction& transaction, TableCursor& entries, BytesView key, const RecordSet& removed) const;
  // Removes the rows of the branch that the snapshot sees, with one truncation: a search for each row would find a page that has
  // grown past its size, and try in vain to write it out.
  void clear_pending(Transaction& transaction, BranchId branch) {
    pending_.truncate(transaction, pending_key(branch, 0), pending_key(branch, storage::record_id_max));
  }
  // No branch shows the record any more. States go on naming it, and the trees of their commits its key.
  void mark_purged(Transaction& transaction, BytesView key, RecordId record, const std::vector<BranchId>& branches);
  void each_purged_of(Transaction& transaction, State state, const KeySet* among,
                      const std::function<void(RecordId, BytesView key)>& each);
  // `keep` returns for a record up to which generation contents must be kept.
  uint64_t take_away(Transaction& transaction, const RecordSet& records, const Lost& lost, Stamp write,
                     const std::function<storage::Keep(RecordId)>& keep);
  // Adds to the two sets the records that stand for what is named.
  void adopt_named(Transaction& transaction, const View& view, const Named& named, RecordSet& added, RecordSet& removed);
  void fold_added(Transaction& transaction, State state, const RecordSet& added, std::vector<DocumentHash>& changes);
  void fold_removed(Transaction& transaction, const Pending& pending, std::vector<DocumentHash>& changes);
  RecordId insert_new(Transaction& transaction, const View& view, BytesView key, BytesView document, Stamp generation,
                      uint64_t commit);

  void check_not_stopped(BranchId branch, Stopped what) {
    if (stops_.load(std::memory_order_acquire) != 0) look_for_stop(branch, what);
  }
  void look_for_stop(BranchId branch, Stopped what);

  base::Mutex mutex_;
  std::unordered_map<Segment, uint32_t> last_offset_ GUARDED_BY(mutex_);
  base::Mutex stop_mutex_;
  std::vector<std::pair<BranchId, Stopped>> stopped_ GUARDED_BY(stop_mutex_);
  std::atomic<size_t> stops_{0};  // the size of stopped_
};

}  // namespace versions
