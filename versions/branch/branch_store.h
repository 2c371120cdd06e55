// One collection on all its branches: the records, and who shows which of them.
//
// Records of all branches lie in one RecordStore and are never moved or copied when a branch is
// made or merged. A branch shows the records of its last commit, and what was written on it since:
//
//   view = committed state, less what was removed, with what was added since
//
// Writes since the last commit are rows of their own (`pending`), so that writers of one branch
// meet only where they touch the same document; a commit folds those it sees into a state. An
// update of a committed record makes a new record, and the old one is kept as a delta of it where
// that is shorter. What was added since the last commit is changed where it stands.
//
// Three layouts of Decibel (§3) stand behind this: they differ in which segments records lie in
// and in how a state says what it shows. docs/design/0005-branches.md.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "storage/contents/record_store.h"
#include "versions/branch/commit_history.h"
#include "versions/branch/document_hash.h"
#include "versions/branch/state_past.h"

namespace versions {

using storage::Engine;
using storage::RecordStore;
using storage::Stamp;
using storage::TableCursor;

enum class Layout : uint8_t {
  tuple_first,           // one heap for all branches; a bitmap a branch
  tuple_first_by_tuple,  // the same with a row of branch bits a record
  version_first,         // a segment a branch, chained where they branched; no bitmaps
  hybrid,                // a segment a branch, frozen when it is branched from, with bitmaps
};

// Numbers of branches go up and are never used again.
enum class BranchId : uint32_t { none = 0 };

// What is read, and where writes go. Borrowed knowledge: as the branch was in this transaction.
struct View {
  State state = 0;
  BranchId branch = BranchId::none;  // none: the state alone, read-only
  Segment segment = 0;               // where the branch's new records go
};

// Walks what a view shows; each record once, in no order that all layouts share.
class Scan {
 public:
  virtual ~Scan() = default;
  virtual bool next() = 0;
  virtual RecordId record() const = 0;
  virtual BytesView content() = 0;  // valid until the scan moves
};

// The same for many views at once: each record once, with the views that show it.
class ManyScan : public Scan {
 public:
  // One bit a view, by its place in the list, 64 a word.
  virtual const std::vector<uint64_t>& shown_in() const = 0;
};

// Records that one of two views shows and the other doesn't: the positive and the negative difference (§2.2.3).
struct Difference {
  RecordSet only_a, only_b;
};

// A version of one document.
struct Version {
  RecordId record = 0;
  uint64_t commit = 0;  // the number of the commit it came with; 0: not committed yet, or there before the first
};

// Which of the writes since a branch's last commit the next one holds, by their stamps. Where the commit is made these are the
// ones that its transaction sees; where it is made again others may be there by then, of transactions that were open at that
// time.
struct Held {
  Stamp below = ~Stamp{0};         // all that are stamped below
  std::vector<Stamp> others = {};  // and these; going up

  bool has(Stamp stamp) const;
};

// What became of a collection on a branch since its last commit.
enum class Listing : char {
  made = 5,       // it is there now, whatever the commit has of it
  dropped = 6,    // nothing of what the commit has is shown
  made_anew = 7,  // both
};
constexpr RecordId listing_at = 0;  // where its row stands among those of records: before them, for none has that id
inline bool hides(Listing listing) {
  return listing != Listing::made;
}
inline bool lists(Listing listing) {
  return listing != Listing::dropped;
}

// The stamp of a change that the transaction will tell the log of: with those that it takes then, none lies between.
inline Stamp change_stamp(Transaction& transaction) {
  transaction.expect_stamps(8);
  return transaction.write_stamp();
}

// A row of what was pending, which declared snapshots may show.
struct GoneRow {
  RecordId record = 0;
  char kind = 0;  // its first byte
  Stamp since = 0;
};
using Gone = std::vector<GoneRow>;

// Who waits for a commit. A writer that changes what is pending where it stands conflicts with the commit that folds it, and the
// longer one would always lose: see BranchStore::stop_writers.
enum class Stopped : uint8_t {
  changes,  // of documents that are pending already
  writes,   // all
};

// What a commit folded.
struct Folded {
  State state = 0;  // the branch's new one; the old where nothing was pending
  std::optional<Listing> listing = {};
  std::vector<DocumentHash> changes = {};  // in no order; of a document that was replaced, what came and what went
  Held held;                               // what was pending, and is folded
  Gone gone;                               // to be saved (BranchStore::save)
};

// Records from before the first branch, by key; 0: none. The collection's own `_id` index answers it, which goes on having an
// entry for each of them.
using FirstRecords = std::function<RecordId(Transaction&, BytesView key)>;

struct StoreParts {
  Engine& engine;
  storage::CollectionId collection;
  RecordStore& records;
  FirstRecords first_records;
  StatePast* past = nullptr;  // nullptr: there are no snapshots
};

// Thread-safe; transactions are not. Everything is in tables, written in the caller's transaction; what is in memory may be lost.
class BranchStore {
 public:
  // Opens or makes the tables. Not inside a transaction.
  static std::unique_ptr<BranchStore> open(Layout layout, StoreParts parts);
  virtual ~BranchStore() = default;
  BranchStore(const BranchStore&) = delete;
  BranchStore& operator=(const BranchStore&) = delete;

  // The collection's first state: every record up to `newest`, whatever of it is there. Reads and copies none. Nobody
  // else may write to the collection meanwhile.
  virtual void begin(Transaction& transaction, State state, RecordId newest) = 0;

  // --- reads
  virtual bool shows(Transaction& transaction, const View& view, RecordId record) = 0;
  // The record that has the key in this view; 0: none.
  virtual RecordId find(Transaction& transaction, const View& view, BytesView key);
  std::optional<Bytes> get(Transaction& transaction, const View& view, BytesView key);
  std::optional<Bytes> content(Transaction& transaction, RecordId record) { return parts_.records.find(transaction, record); }
  // What a branch shows whose last commit has that state.
  View view_of(Transaction& transaction, State committed, BranchId branch, Segment segment);
  virtual std::unique_ptr<Scan> scan(Transaction& transaction, const View& view) = 0;
  virtual std::unique_ptr<ManyScan> scan_many(Transaction& transaction, const std::vector<View>& views) = 0;
  virtual Difference diff(Transaction& transaction, const View& a, const View& b) = 0;
  // The records of a set, in the order of their ids.
  std::unique_ptr<Scan> scan_set(Transaction& transaction, RecordSet set);
  // Every version there is of the document, on whatever branch, newest record first.
  std::vector<Version> history(Transaction& transaction, BytesView key);

  // --- writes, on branches
  // Throws DuplicateKey where the view has the key.
  RecordId insert(Transaction& transaction, const View& view, BytesView document, Stamp generation);
  // `old`: what the view shows under the document's key. Returns the record it is now. `superseded`: the content that is stored
  // no longer, if it isn't: generation 0 where the old record stays, which others may show.
  RecordId update(Transaction& transaction, const View& view, RecordId old, BytesView document, Stamp generation,
                  storage::Superseded* superseded = nullptr);
  // `stamp`: what a commit knows the removal by, as it does writes by their generations.
  void remove(Transaction& transaction, const View& view, BytesView key, RecordId old, Stamp stamp,
              storage::Superseded* superseded = nullptr);

  // --- versions
  struct Pending {
    RecordSet added, removed;
    std::vector<Bytes> removed_keys;                   // in the order of their records; empty where the row has none
    Held held;                                         // says just these
    std::vector<std::pair<Bytes, Bytes>> others = {};  // rows of what `held` has not
    std::optional<Listing> listing = {};
    Gone gone = {};  // if they went now
    bool empty() const { return added.empty() && removed.empty() && !listing; }
  };
  // `held`: of these alone; nullptr: all.
  Pending pending(Transaction& transaction, BranchId branch, const Held* held = nullptr);
  bool has_pending(Transaction& transaction, BranchId branch);
  // `held`: see pending.
  std::optional<Listing> listing(Transaction& transaction, BranchId branch, const Held* held = nullptr);
  // The branch has the collection from now on, with what it shows of it.
  void make(Transaction& transaction, BranchId branch, Stamp stamp);
  // The branch shows nothing of it any more. Nobody else may write to it there, nor commit the branch, meanwhile.
  virtual void drop(Transaction& transaction, const View& view, Stamp stamp);
  // What is pending on `from`, all of it added, is so on `into` instead, which shows nothing until now. As with drop, of both.
  void take(Transaction& transaction, const View& into, const View& from, Stamp stamp);
  // Folds what is pending into `state`, a new number, which is the commit's. `held`: see pending. Version-first can't leave out
  // any, and throws IllegalOperation.
  Folded commit(Transaction& transaction, const View& view, State state, const Held* held = nullptr);
  // Until the last share goes, who writes to the branch conflicts.
  [[nodiscard]] std::shared_ptr<void> stop_writers(BranchId branch, Stopped what);
  // What went of the branch's rows, once the stamp of the change is known.
  void save(Transaction& transaction, BranchId branch, const Gone& gone, Stamp write);
  // Writes `changed` over the branch's state, as what a merge decided; nothing that is pending is in it. Whoever touches one of
  // these documents at the same time conflicts. `keys` of the records that are new to the branch.
  struct Adoption {
    std::vector<std::pair<Bytes, RecordId>> adopted;  // shown elsewhere: by key
    RecordSet removed;                                // shown here until now
    std::vector<std::pair<Bytes, Bytes>> written;     // contents that no branch has yet: by key
    bool empty() const { return adopted.empty() && removed.empty() && written.empty(); }
  };
  // `interrupted` is asked at each document, and may throw.
  void adopt(Transaction& transaction, const View& view, State state, const Adoption& adoption, Stamp generation,
             const std::function<void()>& interrupted = {});
  // The branch shows this state from now on; nothing may be pending. Whoever touches a document that this changes conflicts.
  void advance(Transaction& transaction, const View& view, State to);
  // Takes back what is pending. Nobody else may write to the branch meanwhile, as with the next two.
  void discard(Transaction& transaction, const View& view);
  // Whether the lines of two states began with the same one; 0, nothing, is a line of its own. A line begins with the first
  // commit, or where a branch makes the collection.
  virtual bool same_line(Transaction& transaction, State a, State b) = 0;
  // The branch shows this state from now on, or nothing at all any more.
  virtual void opened(Transaction& transaction, BranchId branch, State state);
  virtual void closed(Transaction& transaction, const View& view);

  // --- what goes from history
  // Told of each content that is stored no longer, before it goes.
  using Lost = std::function<void(RecordId, Stamp generation, BytesView content)>;
  // Those of the records that at least one of the states shows.
  virtual RecordSet shown_by_any(Transaction& transaction, const std::vector<State>& states, const RecordSet& records);
  // Takes records away that no state shows any more which is still read, and no branch. Returns how many there were.
  uint64_t free(Transaction& transaction, const RecordSet& records, const Lost& lost);
  // Takes every version of a document away, whoever shows it: `branches` are all there are. States go on naming them, and the
  // trees of their commits. Returns how many versions there were.
  uint64_t purge(Transaction& transaction, BytesView key, const std::vector<BranchId>& branches, const Lost& lost);
  bool purged(Transaction& transaction, RecordId record);
  // The entry of a version. `commit`: the number of that it came with; 0: see Version.
  void put_entry(Transaction& transaction, BytesView key, RecordId record, uint64_t commit);
  // An entry that leads to no version of the key. `gone`: to none at all; that one is as if it were purged.
  void remove_entry(Transaction& transaction, BytesView key, RecordId record, bool gone, const std::vector<BranchId>& branches);
  // Documents that the state still names, and so the trees of commits with it, though they were purged since.
  struct Purged {
    RecordSet records;
    std::vector<Bytes> keys;
  };
  Purged purged_of(Transaction& transaction, State state);
  // All of them, whoever showed them.
  RecordSet purged_records(Transaction& transaction);

  std::vector<std::string> table_names() const;

 protected:
  BranchStore(StoreParts parts, const std::vector<std::string>& more_tables);

  enum class PendingKind : char { added = 1, removed = 2 };
  // `key`: of a record that is removed, which the commit need not read then.
  static Bytes pending_row(PendingKind kind, Stamp stamp, BytesView key = {});
  static Bytes pending_row(Listing listing, Stamp stamp);
  std::optional<PendingKind> pending_kind(Transaction& transaction, BranchId branch, RecordId record);
  // Before a row of what is pending, and the record that it may have added, changes or goes: what contents are to be kept.
  Stamp keep_row(Transaction& transaction, BranchId branch, RecordId record, Stamp write);
  // Of a change that says what it is when it is done.
  Stamp stamp_of(Transaction& transaction) const { return parts_.past ? change_stamp(transaction) : 0; }
  Stamp shown_before(Stamp write) const { return parts_.past ? parts_.past->shown_before(write) : 0; }
  void save_content(Transaction& transaction, RecordId record, const storage::Superseded& before, Stamp write) {
    if (before.tells_past()) parts_.past->save_content(transaction, record, before, write);
  }
  // A place for a new record, or for what a layout keeps instead of one.
  RecordId allocate(Transaction& transaction, Segment segment);

  // What a layout does when a branch begins or stops to show a record, beside the pending row. `key`: of a document that is
  // removed; empty where something else takes its place.
  virtual void now_shown(Transaction&, BranchId, RecordId) {}
  virtual void now_hidden(Transaction&, const View&, BytesView key, RecordId) { (void)key; }
  // Whether the state names the record, whose content may be gone.
  virtual bool names(Transaction& transaction, State state, RecordId record) {
    return shows(transaction, {.state = state}, record);
  }
  // Whether a state can leave out some of what is pending.
  virtual bool leaves_out() const { return true; }
  virtual void save_state(Transaction& transaction, const View& view, State state, const RecordSet& added,
                          const RecordSet& removed) = 0;
  virtual void save_adoption(Transaction& transaction, const View& view, State state, const Adoption& adoption,
                             const RecordSet& written) = 0;
  virtual void discarded(Transaction&, const View&) {}
  // A record, or what a layout keeps instead of one, is there no more, whatever states say.
  virtual void forgotten(Transaction&, RecordId) {}
  // The highest place given out in the segment, as its tables tell.
  virtual RecordId last_of(Transaction& transaction, Segment segment);

  // Entries of one key, newest record first. `each` tells below which id to go on: the record's own for the next, 0 to stop.
  void each_entry(Transaction& transaction, BytesView key, const std::function<RecordId(RecordId, BytesView value)>& each);
  static Bytes entry_key(BytesView key, RecordId record);

  StoreParts parts_;
  Table keys_;     // key, RecordId -> commit
  Table pending_;  // branch, RecordId -> kind
  std::vector<Table> more_;

 private:
  static Bytes pending_key(BranchId branch, RecordId record);
  // Whoever else brings the key to the branch at the same time conflicts.
  void claim(Transaction& transaction, BranchId branch, BytesView key);
  // Conflicts with whoever writes to the branch what goes from it, or comes to it.
  void hide(Transaction& transaction, const View& view, const RecordSet& removed);
  void claim_new(Transaction& transaction, TableCursor& entries, BranchId branch, BytesView key, const RecordSet& removed);
  // Whether one of the removed records has the key. May miss one that is old.
  bool takes_the_place(Transaction& transaction, TableCursor& entries, BytesView key, const RecordSet& removed) const;
  // What the snapshot sees of the branch's rows goes. Not row by row: each search would find a page that has grown past its size,
  // and try in vain to write it out.
  void clear_pending(Transaction& transaction, BranchId branch) {
    pending_.truncate(transaction, pending_key(branch, 0), pending_key(branch, storage::record_id_max));
  }
  // States go on naming the record, and the trees of their commits its key; no branch does.
  void mark_purged(Transaction& transaction, BytesView key, RecordId record, const std::vector<BranchId>& branches);
  // `keep`: contents of a record of that generation and before are kept.
  uint64_t take_away(Transaction& transaction, const RecordSet& records, const Lost& lost, Stamp write,
                     const std::function<storage::Keep(RecordId)>& keep);
  void fold_added(Transaction& transaction, State state, const RecordSet& added, std::vector<DocumentHash>& changes);
  void fold_removed(Transaction& transaction, const Pending& pending, std::vector<DocumentHash>& changes);
  RecordId insert_new(Transaction& transaction, const View& view, BytesView key, BytesView document, Stamp generation,
                      uint64_t commit);

  void check_not_stopped(BranchId branch, Stopped what) {
    if (stops_.load(std::memory_order_acquire) != 0) look_for_stop(branch, what);
  }
  void look_for_stop(BranchId branch, Stopped what);

  std::mutex mutex_;
  std::unordered_map<Segment, uint32_t> last_offset_;
  std::mutex stop_mutex_;
  std::vector<std::pair<BranchId, Stopped>> stopped_;
  std::atomic<size_t> stops_{0};  // how many these are
};

}  // namespace versions
