// FilteredRoots are the roots of trees (versions/branch/roots.h) of those documents of a collection alone that match a filter.
//
//   tree of a commit      the trees' difference           filtered tree, in memory
//        |   -> its parent's   --- its documents, tested ->   its parent's -> its own
//
// A commit costs what it changed, if its parent's filtered tree is in memory; else all documents of the commit are tested. What
// comes out depends on the commit's tree, the filter and the collation alone, so roots are remembered while the server runs, and
// some trees. Nothing is stored.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/mutex.h"
#include "versions/database/branched_database.h"

namespace versions {

// Returns whether a document matches a filter. Throws OperationError.
using Matches = std::function<bool(bson::DocumentView document)>;

// Roots and trees that were computed. Roots have two generations of so many: when the young one is full, the old one goes.
// This class is thread-safe.
class KnownRoots {
 public:
  static constexpr size_t generation_max = 200'000;       // of some 100 bytes
  static constexpr uint64_t trees_bytes_max = 128 << 20;  // the oldest trees go
  // A key names a filter, a collation and the tree of all documents.
  std::optional<Hash> find(const Hash& key);
  void put(const Hash& key, const Hash& root);

  // Trees under one filter, which one thread at a time has.
  struct Trees {
    std::unique_ptr<merkle::MemoryNodes> nodes = std::make_unique<merkle::MemoryNodes>();
    std::map<Hash, Hash> roots = {};  // the tree of all documents -> the filtered one
    uint64_t bytes_max = 0;
  };
  Trees take(const Hash& filter);
  void give_back(const Hash& filter, Trees trees);

 private:
  struct ByPrefix {
    size_t operator()(const Hash& hash) const { return base::load_le<size_t>(hash.data()); }
  };
  using Generation = std::unordered_map<Hash, Hash, ByPrefix>;
  void add(const Hash& key, const Hash& root) REQUIRES(mutex_);

  base::Mutex mutex_;
  Generation young_ GUARDED_BY(mutex_), old_ GUARDED_BY(mutex_);
  std::deque<std::pair<Hash, Trees>> trees_ GUARDED_BY(mutex_);  // the oldest first
};

// One collection under one filter, in one transaction. One thread uses it; what it is made of outlives it.
class FilteredRoots {
 public:
  struct With {
    BranchedDatabase& database;
    Transaction& transaction;
    SharedCollection& collection;
    const bson::Document& filter;
    Matches matches;
    KnownRoots& known;
    std::function<void()> interrupted;  // may throw
    uint64_t old_nodes_bytes;           // nodes of earlier commits stay until there are so many bytes of all
  };
  explicit FilteredRoots(With with);

  // The commit has the collection. Zeros if its id says nothing of the documents. Throws IllegalOperation if it shows documents
  // that were purged, ExceededMemoryLimit if too many match.
  Hash root(const Commit& commit);
  // Keeps the trees for the next one under this filter; no root is asked for afterwards.
  void end();
  bool matches(bson::DocumentView document) const { return with_.matches(document); }

 private:
  // Returns nullopt if too much differs.
  std::optional<Hash> changed(const View& view, const Hash& from, const Hash& from_filtered, const Hash& tree);
  Hash built(const View& view, const Hash& tree);
  Hash name_of(const Hash& tree) const;
  void forget_if_many();

  With with_;
  Hash filter_name_{};
  // Something was purged. Then nothing is remembered: what a commit's filtered tree was must not depend on who asked before.
  bool purged_ = false;
  KnownRoots::Trees trees_;
};

// A filter can't be asked about a document that was purged.
[[noreturn]] void refuse_purged(const SharedCollection& collection);

}  // namespace versions
