// Writers of branches meet each other, commits, and purges.
#include "versions/branch/branches.h"

#include <thread>

#include "versions/branch/test_repository.h"

using namespace versions;
using namespace versions::test;

TEST_CASE("writers of one branch meet only on the same document") {
  for (const Layout layout : all_layouts) {
    // 0: no document is touched twice; otherwise both touch one that is committed, was added since, or is new.
    for (const int twice : {0, 1, 20, 30}) {
      storage::TemporaryDirectory directory;
      Repository repository(directory.path(), layout, 12);
      const auto put = [&](Transaction& transaction, int id, int a) { repository.put(transaction, "main", document(id, a, 0)); };
      storage::in_transaction(repository.disk, [&](Transaction& transaction) { put(transaction, 20, 1); });

      Transaction one(repository.disk, Transaction::Mode::write), other(repository.disk, Transaction::Mode::write);
      put(one, 1, 1);
      put(one, 20, 2);
      put(one, 30, 1);
      put(other, 2, 1);
      put(other, 31, 1);
      repository.remove(other, "main", 3);
      if (twice != 0) {
        CHECK_THROWS_AS(put(other, twice, 2), storage::WriteConflict);
        continue;
      }
      one.commit();
      other.commit();
      Transaction after(repository.disk, Transaction::Mode::read);
      CHECK(repository.read(after, repository.view(after, "main")).size() == 14);
    }
  }
}

TEST_CASE("a commit takes what it sees, and leaves to the next what was still open") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    Transaction open(repository.disk, Transaction::Mode::write);
    repository.put(open, "main", document(1, 7, 7));
    repository.put(open, "main", document(40, 7, 7));
    const auto first = storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      repository.put(transaction, "main", document(2, 8, 8));
      repository.put(transaction, "main", document(41, 8, 8));
      return repository.branches->commit(transaction, "main", {});
    });
    open.commit();
    const auto second = storage::in_transaction(
        repository.disk, [&](Transaction& transaction) { return repository.branches->commit(transaction, "main", {}); });
    REQUIRE(first);
    REQUIRE(second);
    Transaction transaction(repository.disk, Transaction::Mode::read);
    const Documents at_first = repository.read(transaction, repository.branches->view(transaction, first->number, 0));
    const Documents at_second = repository.read(transaction, repository.branches->view(transaction, second->number, 0));
    CHECK(at_first.at(1) == document(1, 0, 0));
    CHECK(at_first.count(40) == 0);
    CHECK(at_first.size() == 13);
    CHECK(at_second.at(1) == document(1, 7, 7));
    CHECK(at_second.at(41) == document(41, 8, 8));
    CHECK(at_second.size() == 14);
  }
}

TEST_CASE("a commit that meets a writer of what it folds conflicts, and so does the writer") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    storage::in_transaction(repository.disk,
                            [&](Transaction& transaction) { repository.put(transaction, "main", document(20, 1, 1)); });
    Transaction writer(repository.disk, Transaction::Mode::write);
    Transaction committer(repository.disk, Transaction::Mode::write);
    repository.put(writer, "main", document(20, 2, 2));  // the record changes in its place, so the commit would show it changed
    CHECK_THROWS_AS(repository.branches->commit(committer, "main", {}), storage::WriteConflict);
  }
}

TEST_CASE("a commit that others are quicker than can stop those who write to its branch") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    const auto change = [&](const std::string& branch, int id, int value) {
      Transaction transaction(repository.disk, Transaction::Mode::write);
      if (value < 0)
        repository.remove(transaction, branch, id);
      else
        repository.put(transaction, branch, document(id, value, 0));
      transaction.commit();
    };
    storage::in_transaction(repository.disk,
                            [&](Transaction& transaction) { repository.branches->create(transaction, "dev", "main"); });
    for (const int id : {20, 21}) change("main", id, 1);
    {
      const BranchId main = storage::in_transaction(
          repository.disk, [&](Transaction& transaction) { return repository.branches->head(transaction, "main").id; });
      const auto changes = repository.store().stop_writers(main, Stopped::changes);
      CHECK_THROWS_AS(change("main", 20, 2), storage::WriteConflict);
      CHECK_THROWS_AS(change("main", 21, -1), storage::WriteConflict);
      change("main", 22, 1);
      change("main", 1, 2);
      change("main", 2, -1);
      const auto all = repository.store().stop_writers(main, Stopped::writes);
      for (const int id : {20, 23, 3}) CHECK_THROWS_AS(change("main", id, 2), storage::WriteConflict);
      CHECK_THROWS_AS(change("main", 4, -1), storage::WriteConflict);
      change("dev", 23, 2);
      storage::in_transaction(repository.disk,
                              [&](Transaction& transaction) { REQUIRE(repository.branches->commit(transaction, "main", {})); });
    }
    change("main", 20, 2);
    change("main", 21, -1);
  }
}

TEST_CASE("many threads write and commit on one branch, and nothing is lost") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 60; ++i) {
          storage::in_transaction(repository.disk, [&](Transaction& transaction) {
            repository.put(transaction, "main", document(thread * 1000 + i % 40, i, thread));
          });
        }
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        storage::in_transaction(repository.disk,
                                [&](Transaction& transaction) { repository.branches->commit(transaction, "main", {}); });
    });
    for (std::thread& thread : threads) thread.join();
    storage::in_transaction(repository.disk,
                            [&](Transaction& transaction) { repository.branches->commit(transaction, "main", {}); });
    Transaction transaction(repository.disk, Transaction::Mode::read);
    const Branch main = repository.branches->head(transaction, "main");
    const Documents committed = repository.read(transaction, repository.branches->view(transaction, main.head, 0));
    CHECK(committed == repository.read(transaction, repository.branches->view(transaction, main, 0)));
    REQUIRE(committed.size() == 120);
    for (const auto& [id, bytes] : committed)
      CHECK(bytes == document(id, id % 1000 < 20 ? id % 1000 + 40 : id % 1000, id / 1000));
  }
}

TEST_CASE("a write of a document that is purged at the same time conflicts, on each branch") {
  for (const Layout layout : all_layouts) {
    INFO("layout " << static_cast<int>(layout));
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    Branches& branches = *repository.branches;
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      branches.create(transaction, "dev", "main");
      branches.create(transaction, "empty", "main");
      repository.put(transaction, "dev", document(1, 1, 1));
      repository.remove(transaction, "empty", 1);
      branches.commit(transaction, "dev", {});
      branches.commit(transaction, "empty", {});
    });
    const auto conflict = [&](const auto& write) {
      for (const bool purge_first : {true, false}) {
        Transaction writer(repository.disk, Transaction::Mode::write), purger(repository.disk, Transaction::Mode::write);
        const auto purge = [&] { branches.purge(purger, 0, key_of_id(1), {}); };
        if (purge_first) {
          purge();
          CHECK_THROWS_AS(write(writer), storage::WriteConflict);
        } else {
          write(writer);
          CHECK_THROWS_AS(purge(), storage::WriteConflict);
        }
        writer.rollback();
        purger.rollback();
      }
    };
    conflict([&](Transaction& transaction) { repository.put(transaction, "empty", document(1, 2, 2)); });
    conflict([&](Transaction& transaction) { repository.put(transaction, "dev", document(1, 2, 2)); });
    conflict([&](Transaction& transaction) { repository.put(transaction, "main", document(1, 2, 2)); });
    conflict([&](Transaction& transaction) { repository.remove(transaction, "dev", 1); });
    conflict([&](Transaction& transaction) { branches.create(transaction, "new", "dev"); });
  }
}
