// Tests of branches share these: a store, a collection with a few documents, and branches over it.
#pragma once

#include <catch2/catch.hpp>
#include <climits>
#include <map>

#include "bson/builder.h"
#include "storage/background/dedup_service.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/testing/temporary_store.h"
#include "versions/branch/branches.h"

namespace versions::test {

using Documents = std::map<int, Bytes>;  // by _id

inline Bytes document(int id, int a, int b, const Bytes& text = {}) {
  bson::Builder builder;
  builder.append("_id", id).append("a", a).append("b", b).append("text", text);
  return builder.done().bytes();
}
inline int id_of(BytesView document) {
  return bson::DocumentView(document).find("_id").as_int32();
}
inline Bytes key_of_id(int id) {
  return key_of(document(id, 0, 0));
}

// The root of a tree that has these documents alone.
inline Hash root_of(const Documents& documents, const TreeKind& kind = {}) {
  merkle::MemoryNodes nodes;
  const auto index = merkle::make_index(kind.index_options());
  std::map<Bytes, Hash> hashes;
  for (const auto& [id, bytes] : documents) hashes[key_of(bytes)] = sha256(bytes);
  std::vector<merkle::Change> changes;
  for (const auto& [key, hash] : hashes) changes.push_back({key, versions::view(hash)});
  return index->build(nodes, changes);
}

inline constexpr TreeKind all_trees[] = {
    {}, {.structure = merkle::Structure::patricia_trie}, {.structure = merkle::Structure::bucket_tree, .buckets = 40}};
inline constexpr Layout all_layouts[] = {Layout::tuple_first, Layout::tuple_first_by_tuple, Layout::version_first,
                                         Layout::hybrid};

using Work = std::function<void(Transaction&)>;

// Runs the work in a transaction that is rolled back. It is interrupted at its `last`-th look, or not at all if it has fewer.
// Returns the number of looks.
inline int looks_of(storage::Engine& engine, const Work& work, int last) {
  struct Interruption {};
  int looks = 0;
  const base::Interrupted look = [&] {
    if (++looks == last) throw Interruption();
  };
  Transaction transaction(engine, Transaction::Mode::write);
  const storage::InterruptibleWaits waits(&look);
  try {
    work(transaction);
    CHECK(looks < last);
  } catch (const Interruption&) {
    CHECK(looks == last);
  }
  return looks;
}

// Interrupts the work at its first look, its second, and so on with ever longer steps, and at last behind its last one. Each time
// `check` is called. Returns the number of looks.
inline int interrupt_at_looks(storage::Engine& engine, const Work& work, const std::function<void()>& check) {
  const int looks = looks_of(engine, work, INT_MAX);
  check();
  for (int last = 1; last < looks; last += 1 + last / 2) {
    INFO("look " << last << " of " << looks);
    looks_of(engine, work, last);
    check();
  }
  if (looks > 0) looks_of(engine, work, looks);
  check();
  return looks;
}

struct Repository {
  Repository(const std::string& path, Layout layout, int documents_before = 0) : disk(options(path)), quiet(disk.dedup().hold()) {
    collection = disk.catalog().open("test.things");
    const bool is_new = !collection;
    if (is_new) collection = disk.catalog().create("test.things", {});
    FirstRecords first = [this](Transaction& transaction, BytesView key) -> RecordId {
      // These documents were the first: as long as they are there, their RecordIds follow from their keys.
      for (int id = 1; id <= 12; ++id) {
        if (key == key_of_id(id) && collection->records().find(transaction, id)) return id;
      }
      return 0;
    };
    branches.emplace(disk, 1, layout,
                     std::vector<Branches::Collection>{{"things", {disk, collection->id(), collection->records(), first}}});
    if (!is_new) return;
    storage::in_transaction(disk, [&](Transaction& transaction) {
      RecordId newest = 0;
      for (int id = 1; id <= documents_before; ++id)
        newest = collection->records().insert(transaction, document(id, 0, 0), transaction.next_stamp());
      branches->begin(transaction, {newest}, {});
    });
  }
  static storage::StoreOptions options(const std::string& path) {
    storage::StoreOptions options = storage::test_options(path);
    options.dedup.enabled = false;
    return options;
  }

  BranchStore& store() { return branches->store(0); }
  View view(Transaction& transaction, const std::string& branch) {
    return branches->view(transaction, branches->head(transaction, branch), 0);
  }

  void put(Transaction& transaction, const std::string& branch, BytesView document) {
    const View at = view(transaction, branch);
    const RecordId old = store().find(transaction, at, key_of(document));
    if (old == 0)
      store().insert(transaction, at, document, transaction.next_stamp());
    else
      store().update(transaction, at, old, document, transaction.next_stamp());
  }
  void remove(Transaction& transaction, const std::string& branch, int id) {
    const View at = view(transaction, branch);
    const Bytes key = key_of_id(id);
    store().remove(transaction, at, key, store().find(transaction, at, key), transaction.next_stamp());
  }
  Documents read(Transaction& transaction, const View& view) {
    Documents all;
    const auto scan = store().scan(transaction, view);
    while (scan->next()) {
      const auto [at, is_new] = all.emplace(id_of(scan->content()), scan->content());
      CHECK(is_new);
    }
    return all;
  }

  storage::Store disk;
  std::unique_lock<std::mutex> quiet;  // keeps the background quiet: rows that it moves would conflict now and then
  std::shared_ptr<storage::Collection> collection;
  std::optional<Branches> branches;
};

}  // namespace versions::test
