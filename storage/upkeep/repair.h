// This file does what `validate {repair: true}` does to a collection.
//
//   tables     the rows of a damaged table that can be read are copied to a new file; the
//              steps that follow find out what the others were; rows of a salvaged file that
//              a sound table contradicts move to local.lost_and_found.<uuid>
//   states     lost states of commits are rebuilt from the rows that are left, and from hash trees
//   pending    lost rows of what branches show beyond their last commits are rebuilt from the log
//   records    those whose rows were lost, and whose contents are whole in a chain, get their rows back
//   documents  those whose records were lost are rebuilt from the log, if the log has all
//              that makes their newest contents
//   contents   a content that does not match its checksum is restored from a copy, and
//              then the contents based on it can be read again; if there is no copy,
//              what is left of the record moves to local.lost_and_found.<uuid>
//   chains     counts of references are set to what a scan counts; rows that nothing leads
//              to, or that nothing needs, are removed
//   indexes    missing entries are inserted, wrong entries are removed
//   trees      hash trees of commits with lost nodes are rebuilt from what the commits show
//   counts     the counts of records and bytes are set to what is stored
//
// The repair holds the schema lock exclusively throughout, and dedup's background stands still. Each step has its own
// transaction; after a crash the next repair goes on from the steps that were committed.
#pragma once

#include <functional>
#include <map>

#include "base/result.h"
#include "storage/collections/collection.h"
#include "storage/upkeep/damaged_documents.h"

namespace storage {

class Engine;
class Store;

// This is a plug that finds a whole copy of a content elsewhere, by the content's name. The repair uses the copy only if its
// checksum is right.
using ContentCopies = std::function<std::optional<Bytes>(const Collection& collection, RecordId record, Stamp generation)>;

// A LoggedDocument is what a log says of a document that was lost.
struct LoggedDocument {
  Stamp generation = 0;  // of the content that the document's record had; 0: the log doesn't say it, or has no such content
  std::string why_not;   // "the log's newest entry of it, Timestamp(1, 2), only names its content"
};

// This is a plug that finds lost documents in a log. In a database with branches a document is what one record has, one version.
class DocumentLog {
 public:
  virtual ~DocumentLog() = default;
  // Looks for all of them in one walk. What has no `_id` is left out.
  virtual std::map<RecordId, LoggedDocument> find(const Collection& collection, const std::vector<DamagedDocument>& lost,
                                                  const std::function<void()>& interrupted) = 0;
  // Returns the content of a record for which find() gave a generation, or says why there is none. It may be made of what other
  // records have, so the repair asks for the oldest generation first, and puts each content in place before it goes on.
  virtual base::Result<Bytes> content(RecordId record, const std::function<void()>& interrupted) = 0;
};

// This is a plug for what a database with branches keeps of a collection beside the collection's own tables: entries of `_id`,
// which lead to versions, what commits and branches show, and the commits' hash trees. The implementation knows where they are
// stored, and what a branch and a commit have for a record.
class VersionRepair {
 public:
  virtual ~VersionRepair() = default;
  // These return the names of the tables of entries, of what commits show, and of trees. Their rows can be rebuilt from others,
  // so the repair replaces a damaged table by what can be read of it.
  virtual std::string entries_table() const = 0;
  virtual std::string states_table() const = 0;
  virtual std::string trees_table() const = 0;
  // Returns the name of the table of what branches show beyond their last commits; empty: its rows can't be rebuilt.
  virtual std::string pending_table() const = 0;

  struct States {
    int64_t made = 0;
    std::vector<std::string> lost;     // ids of commits whose states nothing determines any more
    std::vector<std::string> partial;  // ids of commits that show less than their trees name
  };
  // Rebuilds the states of commits that can't be read. `there` are the records that have rows. The repair calls this before
  // the other functions, which read the states.
  virtual States make_states(const std::vector<RecordId>& there, const std::function<void()>& interrupted) = 0;

  struct Pending {
    int64_t made = 0;  // rows
    // Branches of which the log doesn't have all writes since their last commits. They may show documents again that were
    // removed.
    std::vector<std::string> partial;
    std::map<std::string, int64_t> lost;  // so many documents of these branches have no record any more
    std::vector<RecordId> nobodys;        // nothing says on which branch these records were written
    std::vector<DamagedDocument> purged;  // commits name these, and neither a record nor an entry of `_id` is left
  };
  // Puts the missing rows of what branches show beyond their last commits into `rows`, which will take the table's place. It has
  // the rows that are left; `salvaged` means that some may be older than the last ones. The repair calls this after make_states.
  virtual Pending make_pending(const Table& rows, bool salvaged, const std::vector<RecordId>& there,
                               const std::function<void()>& interrupted) = 0;

  struct Missing {
    std::vector<RecordId> records;  // a commit or a branch shows them, in ascending order
    // So many records from before the first branch are missing too. All commits and branches from there on show them, so that
    // nothing tells them from RecordIds that were free by then. Any of those stand for them, and the counts are right.
    std::vector<RecordId> unknown;
  };
  // Returns the records that have no row, though somebody shows them. `there` are those that have rows. It reads the states of
  // all commits.
  virtual Missing missing(Transaction& transaction, const std::vector<RecordId>& there,
                          const std::function<void()>& interrupted) = 0;
  // The repair calls this for an entry that leads to no document with that key, and with an empty key for a record that has no
  // entry. `gone` means that the entry's record doesn't exist at all, so that nobody may expect it any more.
  virtual void remove(Transaction& transaction, BytesView key, RecordId record, bool gone) = 0;
  // This returns false when another document from before the first branch has the key. Where the index has the entries of
  // versions itself, because it has a collation, it is called for each record, and writes what is missing there and here.
  virtual bool insert(Transaction& transaction, BytesView key, RecordId record) = 0;

  struct Trees {
    int64_t made = 0;
    std::vector<std::string> lost;  // ids of commits whose trees can't be read, and don't follow from what is left
  };
  // Rebuilds those of the collection's trees that can't be read. It reads the nodes of all of them, each node once.
  virtual Trees make_trees(const std::function<void()>& interrupted) = 0;
};

struct RepairReport {
  ValidateReport after;           // This is what validate finds after the repair.
  int64_t restored_contents = 0;  // These contents were restored from copies.
  int64_t restored_stubs = 0;     // These records' rows were made anew, because their contents are whole in chains.
  int64_t removed_contents = 0;   // These contents, which only snapshots showed, can't be read.
  int64_t removed_records = 0;    // These records were corrupt and are now in lost_and_found.
  // These documents were whole, but conflicted with another one in a unique index; they are in lost_and_found too.
  int64_t moved_documents = 0;
  int64_t inserted_keys = 0;
  int64_t removed_keys = 0;
  int64_t unnamed_records = 0;        // Branches and commits showed these, but nobody had their rows or their entries.
  int64_t corrected_types = 0;        // These types belong to index entries that existed.
  int64_t corrected_chains = 0;       // This counts rows of chains.
  int64_t rewritten_tables = 0;       // These tables had damaged pages.
  int64_t made_states = 0;            // These states of commits were rebuilt.
  int64_t made_pending = 0;           // These rows of what branches show beyond their last commits were rebuilt.
  int64_t made_trees = 0;             // These hash trees of commits were rebuilt.
  bool took_away = false;             // Documents, what snapshots or commits show of them, or trees of commits may be gone.
  std::vector<std::string> lost;      // These documents could not be read and are gone: "document {_id: 5} (record 17)".
  std::vector<std::string> restored;  // These could not be read, and the log had what makes them.
  std::vector<std::string> warnings;

  bool repaired() const {
    return restored_contents + restored_stubs + removed_records + moved_documents + inserted_keys + removed_keys +
               corrected_types + corrected_chains + rewritten_tables + made_states + made_pending + made_trees + unnamed_records >
           0;
  }
};

// This function repairs one collection. It must not be called on a member of a set, whose rows would then differ from the other
// members'. It throws NamespaceNotFound when the collection was dropped, and CommandNotSupported for a collection that isn't kept
// in records (the log). `versions` is nullptr when the database has no branches. A `log` that isn't nullptr is searched for
// documents that were lost.
RepairReport repair_collection(Store& store, const std::shared_ptr<Collection>& collection, bool full,
                               const ContentCopies& copies, VersionRepair* versions,
                               const std::function<void()>& interrupted = nullptr, DocumentLog* log = nullptr);

// Returns whether WiredTiger could not open its files at a start with `--repair`, and salvaged them. The directory remembers it
// until it is forgotten.
bool was_salvaged(Store& store);
void forget_salvage(Store& store);

// This function returns at most `count_max` documents that can't be read, so that a caller can name them after validate found
// some.
std::vector<DamagedDocument> corrupt_records(Engine& engine, Collection& collection, size_t count_max,
                                             const std::function<void()>& interrupted = nullptr);

}  // namespace storage
