#include "versions/branch/merge.h"

#include <stdexcept>

#include "bson/json.h"
#include "versions/branch/test_repository.h"

using namespace versions;
using namespace versions::test;

namespace {

// Counts what a merge keeps, up to a limit.
struct Limit {
  std::ptrdiff_t bytes_max;
  std::ptrdiff_t bytes = 0, most = 0;

  Hold hold() {
    return [this](std::ptrdiff_t more) {
      if (more > 0 && bytes + more > bytes_max) throw std::length_error("too much");
      bytes += more;
      CHECK(bytes >= 0);
      most = std::max(most, bytes);
    };
  }
};

// Changes documents 1 to 12 on main and dev. Returns dev's last commit.
CommitNumber change_both(Repository& repository, const std::function<Bytes(int id)>& mine,
                         const std::function<Bytes(int id)>& other) {
  return storage::in_transaction(repository.disk, [&](Transaction& transaction) {
    repository.branches->create(transaction, "dev", "main");
    for (int id = 1; id <= 12; ++id) {
      repository.put(transaction, "dev", other(id));
      if (mine) repository.put(transaction, "main", mine(id));
    }
    if (mine) repository.branches->commit(transaction, "main", {1, {}});
    return repository.branches->commit(transaction, "dev", {2, {}})->number;
  });
}

MergeTerms limited(Limit& limit) {
  MergeTerms terms(fields(Prefer::neither));
  terms.hold = limit.hold();
  return terms;
}

}  // namespace

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

TEST_CASE("a merge that makes more than it may keep ends, and changes nothing") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    Branches& branches = *repository.branches;
    const Bytes text(50'000, 'x');
    const CommitNumber dev = change_both(
        repository, [](int id) { return document(id, 1, 0); }, [&](int id) { return document(id, 0, 2, text); });
    Limit little{.bytes_max = 300'000}, enough{.bytes_max = 2'000'000};
    CHECK_THROWS_AS(
        storage::in_transaction(repository.disk,
                                [&](Transaction& transaction) { branches.merge(transaction, "main", dev, limited(little), {}); }),
        std::length_error);
    CHECK(little.most > 200'000);  // it is counted document by document
    CHECK(little.bytes == 0);
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      const Documents documents = repository.read(transaction, repository.view(transaction, "main"));
      CHECK(documents.at(1) == document(1, 1, 0));
      CHECK(documents.at(12) == document(12, 1, 0));
    });
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      {
        const Merged merged = branches.merge(transaction, "main", dev, limited(enough), {});
        REQUIRE(merged.commit);
        CHECK(enough.bytes > 12 * 50'000);  // the adoption has the documents
      }
      CHECK(enough.bytes == 0);
      CHECK(repository.read(transaction, repository.view(transaction, "main")).at(12) == document(12, 1, 2, text));
    });
  }
}

TEST_CASE("a merge keeps none of the documents that it takes over") {
  storage::TemporaryDirectory directory;
  Repository repository(directory.path(), Layout::hybrid, 12);
  const CommitNumber dev = change_both(repository, {}, [](int id) { return document(id, 0, 2, Bytes(50'000, 'x')); });
  Limit limit{.bytes_max = 20'000};
  storage::in_transaction(repository.disk, [&](Transaction& transaction) {
    CHECK(repository.branches->merge(transaction, "main", dev, limited(limit), {}).commit);
  });
  CHECK(limit.most > 0);
  CHECK(limit.bytes == 0);
}

TEST_CASE("the paths of all conflicts of a merge are counted together") {
  storage::TemporaryDirectory directory;
  Repository repository(directory.path(), Layout::hybrid, 12);
  constexpr int fields_each = 1000;
  const auto with_fields = [](int value) {
    return [=](int id) {
      bson::Builder out;
      out.append("_id", id);
      for (int i = 0; i < fields_each; ++i) out.append("f" + std::to_string(i), value);
      return out.done().bytes();
    };
  };
  const CommitNumber dev = change_both(repository, with_fields(1), with_fields(2));
  Limit little{.bytes_max = 600'000}, enough{.bytes_max = 4'000'000};
  Transaction transaction(repository.disk, Transaction::Mode::write);
  CHECK_THROWS_AS(repository.branches->merge(transaction, "main", dev, limited(little), {}), std::length_error);
  CHECK(little.bytes == 0);
  {
    const Merged open = repository.branches->merge(transaction, "main", dev, limited(enough), {});
    REQUIRE(open.conflicts.size() == 12);
    CHECK(open.conflicts.back().paths.size() >= fields_each);
    CHECK(enough.bytes > 12 * fields_each * static_cast<std::ptrdiff_t>(sizeof(std::string)));
  }
  CHECK(enough.bytes == 0);
}
