// These tests cover what branches, commits and tags do one after the other.
#include "versions/branch/branches.h"

#include "versions/branch/test_repository.h"
#include "versions/branch/verification.h"

using namespace versions;
using namespace versions::test;

TEST_CASE("the first branch of a collection copies no record, and a branch none of its parent's") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      repository.branches->create(transaction, "dev", "main");
      repository.put(transaction, "dev", document(3, 9, 9));
    });
    CHECK(repository.collection->records().stats().records == 13);
    Transaction transaction(repository.disk, Transaction::Mode::read);
    CHECK(repository.store().get(transaction, repository.view(transaction, "main"), key_of_id(3)) == document(3, 0, 0));
    CHECK(repository.store().get(transaction, repository.view(transaction, "dev"), key_of_id(3)) == document(3, 9, 9));
    CHECK(repository.store().history(transaction, key_of_id(3)).size() == 2);
  }
}

TEST_CASE("branches and commits are refused by name where they are unknown, twice there, or not to be merged") {
  storage::TemporaryDirectory directory;
  Repository repository(directory.path(), Layout::hybrid, 12);
  Branches& branches = *repository.branches;
  storage::in_transaction(repository.disk, [&](Transaction& transaction) {
    branches.create(transaction, "dev", "main");
    CHECK_THROWS_AS(branches.create(transaction, "dev", "main"), base::OperationError);
    CHECK_THROWS_AS(branches.head(transaction, "nobody"), base::OperationError);
    CHECK(branches.commit(transaction, "dev", {}));  // makes a commit, since the first one's id says nothing of documents
    CHECK_FALSE(branches.commit(transaction, "dev", {}));
    // Merging a branch into itself, or what it has already, does nothing.
    CHECK_FALSE(branches.merge(transaction, "dev", branches.head(transaction, "dev").head, fields(Prefer::ours), {}).commit);
    CHECK_FALSE(branches.merge(transaction, "dev", branches.head(transaction, "main").head, fields(Prefer::ours), {}).commit);
    CHECK_THROWS_AS(
        repository.store().insert(transaction, repository.view(transaction, "dev"), document(3, 1, 1), transaction.next_stamp()),
        base::OperationError);
  });
}

TEST_CASE("a commit is found by the first digits of its id, and its log leads back to the first") {
  storage::TemporaryDirectory directory;
  Repository repository(directory.path(), Layout::hybrid, 12);
  Branches& branches = *repository.branches;
  std::vector<Bytes> ids;
  storage::in_transaction(repository.disk, [&](Transaction& transaction) {
    for (int i = 0; i < 5; ++i) {
      repository.put(transaction, "main", document(1, i + 1, 0));
      ids.push_back(base::to_hex(view(branches.commit(transaction, "main", {0, "same words"})->id)));
    }
    // The same change from the same commit at the same time makes another commit.
    branches.reset(transaction, "main", *branches.graph().find(transaction, ids[3]));
    repository.put(transaction, "main", document(1, 5, 0));
    const auto again = branches.commit(transaction, "main", {0, "same words"});
    CHECK(base::to_hex(view(again->id)) != ids[4]);
    CHECK(again->collections[0].digest ==
          branches.graph().commit(transaction, *branches.graph().find(transaction, ids[4]))->collections[0].digest);
  });
  Transaction transaction(repository.disk, Transaction::Mode::read);
  const VersionGraph& graph = branches.graph();
  for (const Bytes& id : ids) {
    const auto number = graph.find(transaction, BytesView(id).substr(0, 9));
    REQUIRE(number);
    CHECK(base::to_hex(view(graph.commit(transaction, *number)->id)) == id);
  }
  CHECK_FALSE(graph.find(transaction, "0123456789abcdef0123456789abcdef"));
  CHECK_THROWS_AS(graph.find(transaction, "0123456"), base::OperationError);
  CHECK_THROWS_AS(graph.find(transaction, "0123456x"), base::OperationError);
  Log log(graph, transaction, branches.head(transaction, "main").head);
  size_t count = 0;
  while (log.next()) ++count;
  CHECK(count == 6);
  CHECK(log.commit().parents.empty());
}

TEST_CASE("a commit is taken to another branch, and taken back, without what came before and after it") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    Branches& branches = *repository.branches;
    std::vector<CommitNumber> commits;
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      branches.create(transaction, "dev", "main");
      for (int i = 1; i <= 3; ++i) {
        repository.put(transaction, "dev", document(i, i, i));
        repository.put(transaction, "dev", document(20, i, 0));
        commits.push_back(branches.commit(transaction, "dev", {i, {}})->number);
      }
      const Merged none = branches.cherry_pick(transaction, "main", commits[1], fields(Prefer::neither), {5, {}});
      CHECK_FALSE(none.commit);
      REQUIRE(none.conflicts.size() == 1);  // 20 doesn't exist, so it can't be changed
      CHECK(none.conflicts[0].key == key_of_id(20));
      CHECK(none.conflicts[0].ours == 0);
      CHECK(branches.cherry_pick(transaction, "main", commits[1], fields(Prefer::ours), {5, {}}).commit);
      CHECK_FALSE(branches.cherry_pick(transaction, "main", commits[1], fields(Prefer::ours), {6, {}}).commit);
      CHECK(branches.revert(transaction, "dev", commits[0], fields(Prefer::ours), {7, {}}).commit);
      CHECK_THROWS_AS(branches.revert(transaction, "dev", 1, fields(Prefer::ours), {7, {}}), base::OperationError);
    });
    Transaction transaction(repository.disk, Transaction::Mode::read);
    const Documents main = repository.read(transaction, repository.view(transaction, "main")),
                    dev = repository.read(transaction, repository.view(transaction, "dev"));
    CHECK(main.at(1) == document(1, 0, 0));
    CHECK(main.at(2) == document(2, 2, 2));
    CHECK(main.count(20) == 0);
    CHECK(dev.at(1) == document(1, 0, 0));
    CHECK(dev.at(3) == document(3, 3, 3));
    CHECK(dev.at(20) == document(20, 3, 0));
  }
}

TEST_CASE("a commit, reset or drop of a branch that is interrupted anywhere has changed nothing, and can be run again") {
  const Bytes text(60, 'x');
  for (const Layout layout : all_layouts) {
    INFO(static_cast<int>(layout));
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    Branches& branches = *repository.branches;
    Documents dev;
    for (int id = 1; id <= 12; ++id) dev[id] = document(id, 0, 0);
    const auto put = [&](Transaction& transaction, int id, int a) {
      dev[id] = document(id, a, 0, text);
      repository.put(transaction, "dev", dev[id]);
    };
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      branches.create(transaction, "dev", "main");
      for (int id = 1001; id <= 2400; ++id) put(transaction, id, 1);
      branches.commit(transaction, "dev", {});
    });
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      for (int id = 1001; id <= 2200; ++id) {
        dev.erase(id);
        repository.remove(transaction, "dev", id);
      }
      for (int id = 2201; id <= 2400; ++id) put(transaction, id, 2);
      for (int id = 3001; id <= 4400; ++id) put(transaction, id, 3);
    });
    const auto head = [&] {
      Transaction transaction(repository.disk, Transaction::Mode::read);
      return branches.head(transaction, "dev").head;
    };
    const CommitNumber before = head();
    const auto check = [&] {
      CHECK(head() == before);
      Transaction transaction(repository.disk, Transaction::Mode::read);
      const View view = repository.view(transaction, "dev");
      CHECK(repository.read(transaction, view) == dev);
      const BranchStore::Pending pending = repository.store().pending(transaction, view.branch);
      CHECK(pending.added.count() == 1600);
      CHECK(pending.removed.count() == 1400);
    };
    const Work commit = [&](Transaction& transaction) { branches.commit(transaction, "dev", {}); };
    const Work reset = [&](Transaction& transaction) {
      branches.reset(transaction, "dev", branches.head(transaction, "main").head);
    };
    const Work drop = [&](Transaction& transaction) { branches.drop(transaction, "dev"); };
    CHECK(interrupt_at_looks(repository.disk, commit, check) >= 4);  // at rows, documents, their hashes, and what is removed
    CHECK(interrupt_at_looks(repository.disk, reset, check) >= 1600);
    CHECK(interrupt_at_looks(repository.disk, drop, check) >= 1600);

    storage::in_transaction(repository.disk, commit);
    Transaction transaction(repository.disk, Transaction::Mode::read);
    const auto made = branches.graph().commit(transaction, head());
    CHECK(made->parents == std::vector<CommitNumber>{before});
    CHECK(repository.read(transaction, branches.view(transaction, made->number, 0)) == dev);
    CHECK(made->collections[0].digest == root_of(dev));
    CHECK(verify(transaction, branches, made->number, true, 10, {}).damaged == 0);
  }
}

TEST_CASE("tags are there by name until they are taken away, over a restart too") {
  storage::TemporaryDirectory directory;
  CommitNumber first = 0;
  {
    Repository repository(directory.path(), Layout::hybrid, 12);
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      first = repository.branches->head(transaction, "main").head;
      VersionGraph& graph = repository.branches->graph();
      graph.put_tag(transaction, "v1", first);
      graph.put_tag(transaction, "v2", first);
      graph.remove_tag(transaction, "v2");
      repository.put(transaction, "main", document(1, 1, 1));
      repository.branches->commit(transaction, "main", {});
    });
  }
  Repository repository(directory.path(), Layout::hybrid);
  Transaction transaction(repository.disk, Transaction::Mode::read);
  const VersionGraph& graph = repository.branches->graph();
  CHECK(graph.tag(transaction, "v1") == first);
  CHECK_FALSE(graph.tag(transaction, "v2"));
  CHECK_FALSE(graph.tag(transaction, "main"));
  CHECK(graph.tags(transaction) == std::vector<std::pair<std::string, CommitNumber>>{{"v1", first}});
  CHECK(graph.branches(transaction).size() == 1);
  CHECK(repository.store().get(transaction, repository.branches->view(transaction, first, 0), key_of_id(1)) == document(1, 0, 0));
}

TEST_CASE("a purged document is in no version of anything, and nothing else is touched, over a restart too") {
  for (const Layout layout : all_layouts) {
    INFO("layout " << static_cast<int>(layout));
    storage::TemporaryDirectory directory;
    Documents main, dev;
    CommitNumber old = 0;
    {
      Repository repository(directory.path(), layout, 12);
      Branches& branches = *repository.branches;
      storage::in_transaction(repository.disk, [&](Transaction& transaction) {
        branches.create(transaction, "dev", "main");
        for (const char* branch : {"dev", "main"}) {
          for (int i = 1; i < 4; ++i) {
            repository.put(transaction, branch, document(1, i, branch[0]));
            repository.put(transaction, branch, document(20, i, branch[0]));
            repository.put(transaction, branch, document(30 + i, i, branch[0]));
            old = branches.commit(transaction, branch, {i, {}})->number;
          }
          repository.remove(transaction, branch, 20);
          branches.commit(transaction, branch, {9, {}});
        }
        repository.put(transaction, "dev", document(1, 7, 7));  // not committed
        repository.put(transaction, "dev", document(2, 7, 7));
      });
      storage::in_transaction(repository.disk, [&](Transaction& transaction) {
        main = repository.read(transaction, repository.view(transaction, "main"));
        dev = repository.read(transaction, repository.view(transaction, "dev"));
        uint64_t lost = 0;
        const auto count = [&](size_t, RecordId, Stamp, BytesView content) {
          lost += id_of(content) == 1 || id_of(content) == 20;
        };
        CHECK(branches.purge(transaction, 0, key_of_id(1), count) == 8);
        CHECK(branches.purge(transaction, 0, key_of_id(20), count) == 6);
        CHECK(branches.purge(transaction, 0, key_of_id(20), count) == 0);
        CHECK(lost == 14);
        main.erase(1);
        dev.erase(1);
      });
    }
    Repository repository(directory.path(), layout);
    Branches& branches = *repository.branches;
    const auto check = [&](Transaction& transaction) {
      CHECK(repository.read(transaction, repository.view(transaction, "main")) == main);
      CHECK(repository.read(transaction, repository.view(transaction, "dev")) == dev);
      const auto scan =
          repository.store().scan_many(transaction, {repository.view(transaction, "main"), repository.view(transaction, "dev")});
      size_t records = 0;
      while (scan->next()) ++records;
      CHECK(records > 12);
    };
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      check(transaction);
      const Documents past = repository.read(transaction, branches.view(transaction, old, 0));
      CHECK(past.count(1) + past.count(20) == 0);
      CHECK(past.size() == 14);
      CHECK(repository.store().history(transaction, key_of_id(1)).empty());
      // Numbers of records that went are not given out again: a new record would be shown by states that name the old one.
      for (int id = 1; id < 6; ++id) {
        main[60 + id] = document(60 + id, 1, 1);
        repository.put(transaction, "main", main[60 + id]);
        CHECK(
            repository.read(transaction, branches.view(transaction, branches.head(transaction, "main").head, 0)).count(60 + id) ==
            0);
      }
      main[1] = dev[1] = document(1, 99, 99);
      repository.put(transaction, "main", main[1]);
      repository.put(transaction, "dev", dev[1]);
      branches.commit(transaction, "dev", {10, {}});
      branches.commit(transaction, "main", {11, {}});
      check(transaction);
      const Merged merged =
          branches.merge(transaction, "main", branches.head(transaction, "dev").head, fields(Prefer::ours), {12, {}});
      REQUIRE(merged.commit);
      main[2] = document(2, 7, 7);
      check(transaction);
    });
  }
}
