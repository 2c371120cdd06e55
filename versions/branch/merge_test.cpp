#include "versions/branch/merge.h"

#include "bson/json.h"
#include "versions/branch/test_repository.h"

using namespace versions;
using namespace versions::test;

namespace {}  // namespace

TEST_CASE("a merge leaves open what the resolver leaves open, and then writes nothing") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    Branches& branches = *repository.branches;
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      branches.create(transaction, "dev", "main");
      repository.put(transaction, "main", document(1, 1, 0));   // the same field as dev
      repository.put(transaction, "main", document(2, 1, 0));   // another field
      repository.put(transaction, "main", document(3, 5, 5));   // the same
      repository.remove(transaction, "main", 4);                // changed by dev
      repository.remove(transaction, "main", 5);                // by both
      repository.put(transaction, "main", document(50, 1, 1));  // new on both
      branches.commit(transaction, "main", {1, {}});
      repository.put(transaction, "dev", document(1, 2, 0));
      repository.put(transaction, "dev", document(2, 0, 2));
      repository.put(transaction, "dev", document(3, 5, 5));
      repository.put(transaction, "dev", document(4, 2, 0));
      repository.remove(transaction, "dev", 5);
      repository.put(transaction, "dev", document(50, 2, 1));
      repository.put(transaction, "dev", document(6, 2, 2));  // only here
      branches.commit(transaction, "dev", {2, {}});
    });
    CommitNumber dev = 0;
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      dev = branches.head(transaction, "dev").head;
      const Documents before = repository.read(transaction, repository.view(transaction, "main"));
      const Merged open = branches.merge(transaction, "main", dev, fields(Prefer::neither), {});
      CHECK_FALSE(open.commit);
      CHECK(open.touched_by_both == 6);
      std::set<Bytes> keys;
      for (const auto& conflict : open.conflicts) keys.insert(conflict.key);
      CHECK(keys == std::set<Bytes>{key_of_id(1), key_of_id(4), key_of_id(50)});
      CHECK(repository.read(transaction, repository.view(transaction, "main")) == before);
    });
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      const Merged done = branches.merge(transaction, "main", dev, fields(Prefer::theirs), {3, {}});
      REQUIRE(done.commit);
      const Documents after = repository.read(transaction, repository.view(transaction, "main"));
      CHECK(after.at(1) == document(1, 2, 0));
      CHECK(after.at(2) == document(2, 1, 2));
      CHECK(after.at(3) == document(3, 5, 5));
      CHECK(after.at(4) == document(4, 2, 0));
      CHECK(after.count(5) == 0);
      CHECK(after.at(6) == document(6, 2, 2));
      CHECK(after.at(50) == document(50, 2, 1));
    });
  }
}

TEST_CASE("a merge adopts records and copies none, and conflicts with who touches them meanwhile") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    Branches& branches = *repository.branches;
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      branches.create(transaction, "dev", "main");
      repository.put(transaction, "dev", document(1, 1, 1));
      repository.put(transaction, "dev", document(60, 1, 1));
      branches.commit(transaction, "dev", {1, {}});
    });
    const auto records = repository.collection->records().stats().records;
    const auto merge = [&](Transaction& transaction) {
      return branches.merge(transaction, "main", branches.head(transaction, "dev").head, fields(Prefer::ours), {2, {}});
    };
    for (const int id : {1, 60}) {
      Transaction writer(repository.disk, Transaction::Mode::write), merger(repository.disk, Transaction::Mode::write);
      repository.put(writer, "main", document(id, 3, 3));
      CHECK_THROWS_AS(merge(merger), storage::WriteConflict);
    }
    storage::in_transaction(repository.disk, merge);
    CHECK(repository.collection->records().stats().records == records);
    storage::in_transaction(repository.disk,
                            [&](Transaction& transaction) { repository.put(transaction, "main", document(2, 3, 3)); });
    Transaction dirty(repository.disk, Transaction::Mode::write);
    repository.put(dirty, "dev", document(9, 9, 9));
    branches.commit(dirty, "dev", {4, {}});
    CHECK_THROWS_AS(merge(dirty), base::OperationError);  // main has something pending
  }
}
