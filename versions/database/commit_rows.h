// CommitRows are what a commit changed against its first parent, or another commit, document by document, as a pack has it
// (versions/pack).
//
// The two commits' trees say which documents differ, so neither is read beyond them. The first commit of a database, whose id
// says nothing of documents, is all that it shows; what a child of it changed is found by the records that the two show.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>

#include "versions/database/branched_database.h"

namespace versions {

// One transaction's thread uses it. The transaction outlives it.
class CommitRows {
 public:
  struct What {
    CommitNumber commit = 0;
    std::optional<CommitNumber> against = {};                  // 0: nothing; nullopt: the commit's first parent
    std::optional<std::set<storage::CollectionId>> only = {};  // nullopt: all collections
  };
  // Throws IllegalOperation if the commit or the other one was dropped by the retention, or is older than trees of documents.
  CommitRows(BranchedDatabase& database, Transaction& transaction, const What& what);

  struct Row {
    storage::CollectionId collection = 0;
    Bytes key = {};
    std::optional<Bytes> before = {}, after = {};  // the document on the two sides, if somebody has it
    std::optional<Hash> named = {};                // the commit's tree names this document, and it was purged
  };
  std::optional<Row> next();

 private:
  struct Change {
    Bytes key;
    std::optional<Hash> hash;
    enum class By : uint8_t { tree, records, documents } by = By::tree;  // of records `hash` is what the commit's tree says
  };
  bool open();
  std::vector<Change> by_trees(const Hash& before, const Hash& after) const;
  std::vector<Change> by_records(const std::optional<Hash>& root) const;
  std::optional<Row> row_of(const Change& change) const;

  BranchedDatabase& database_;
  Transaction& transaction_;
  std::shared_ptr<const Commit> commit_, parent_;  // parent_ is nullptr if the commit is told against nothing
  std::deque<std::shared_ptr<SharedCollection>> left_;
  // --- the collection that is compared
  std::shared_ptr<SharedCollection> shared_;
  View before_, after_;
  std::unique_ptr<Scan> scan_;  // of all documents, for a commit without a parent
  std::deque<Change> changes_;
};

}  // namespace versions
