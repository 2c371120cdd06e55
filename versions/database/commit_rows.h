// CommitRows are what a commit changed against its first parent, or another commit, document by document, as a pack has it
// (versions/pack).
//
// The two commits' trees say which documents differ, so neither is read beyond them. The first commit of a database, whose id
// says nothing of documents, is all that it shows; what a child of it changed is found by the records that the two show.
#pragma once

#include <deque>
#include <functional>
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
    size_t keys_max = 1 << 22;  // so many keys are held in memory; for more of them the trees are compared again from the start
  };
  // Throws IllegalOperation if the commit or the other one was dropped by the retention, or is older than trees of documents.
  CommitRows(BranchedDatabase& database, Transaction& transaction, const What& what);

  struct Row {
    storage::CollectionId collection = 0;
    Bytes key = {};
    std::optional<Bytes> before = {}, after = {};  // the document on the two sides, if somebody has it
    std::optional<Hash> named = {};                // the commit's tree names this document, and it was purged
  };
  // `interrupted` is called while trees are compared, and may throw; then nothing more may be asked.
  std::optional<Row> next(const std::function<void()>& interrupted = {});

 private:
  struct Change {
    Bytes key;
    std::optional<Hash> hash;
    enum class By : uint8_t { tree, records, documents } by = By::tree;  // of records `hash` is what the commit's tree says
  };
  bool open();
  void fill(const std::function<void()>& interrupted);
  void by_trees(const Hash& before, const Hash& after, const std::function<void()>& interrupted);
  void by_records(const std::optional<Hash>& root, const std::function<void()>& interrupted);
  std::optional<Row> row_of(const Change& change) const;

  BranchedDatabase& database_;
  Transaction& transaction_;
  std::shared_ptr<const Commit> commit_, parent_;  // parent_ is nullptr if the commit is packed whole
  std::deque<std::shared_ptr<SharedCollection>> left_;
  // --- the collection that is compared
  std::shared_ptr<SharedCollection> shared_;
  View before_, after_;
  std::unique_ptr<Scan> scan_;  // of all documents, for a commit without a parent
  std::deque<Change> changes_;
  std::optional<Bytes> behind_;  // the key of the last one
  bool more_ = false;            // there may be others behind it
  const size_t keys_max_;
};

}  // namespace versions
