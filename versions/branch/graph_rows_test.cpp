#include "versions/branch/graph_rows.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/random.h"
#include "base/testing.h"
#include "storage/testing/temporary_store.h"

namespace versions {
namespace {

Commit some_commit(base::Random& random) {
  Commit commit{.number = 2 + random.below(1000), .time_ms = static_cast<int64_t>(random.below(1'000'000)) - 500'000};
  commit.id = merkle::sha256(std::to_string(random()));
  commit.digests = random.below(2) ? DigestKind::roots : DigestKind::sums;
  commit.dropped = random.below(2);
  commit.metadata = Bytes(random.below(300), 'm');
  for (uint64_t left = random.below(3); left > 0; --left) commit.parents.push_back(1 + random.below(commit.number - 1));
  for (uint64_t left = random.below(3); left > 0; --left) {
    commit.collections.push_back({.collection = static_cast<storage::CollectionId>(random.below(UINT32_MAX)),
                                  .label = Bytes(16, 'u'),
                                  .state = random.below(commit.number + 1),
                                  .digest = merkle::sha256("root")});
  }
  return commit;
}

bool is_refused(CommitNumber number, BytesView row) {
  try {
    read_commit(number, row);
    return false;
  } catch (const base::OperationError& error) {
    CHECK(error.code() == base::ErrorCode::data_corruption_detected);
    return true;
  }
}

}  // namespace

TEST_CASE("a commit's row reads as it was written, and cut short or with more behind it not at all") {
  base::Random random(7);
  for (int i = 0; i < 200; ++i) {
    const Commit commit = some_commit(random);
    const Bytes row = write_commit(commit);
    CHECK(dropped_row(row) == commit.dropped);
    CHECK(write_commit(read_commit(commit.number, row)) == row);
    for (size_t cut = 0; cut < row.size(); ++cut) CHECK(is_refused(commit.number, BytesView(row).substr(0, cut)));
    CHECK(is_refused(commit.number, row + "x"));
  }
}

TEST_CASE("a commit that was absent once has parents and states with higher numbers, and one that is absent has its id") {
  Commit commit{.number = 20, .parents = {31, 7}, .collections = {{.collection = 1, .label = "u", .state = 40}}};
  commit.id = merkle::sha256("20");
  for (const bool dropped : {false, true}) {
    commit.dropped = dropped;
    const Bytes row = write_commit(commit);
    const Commit read = read_commit(20, row);
    CHECK((read.parents == commit.parents && read.collections[0].state == 40));
    CHECK((read.grafted && read.dropped == dropped && dropped_row(row) == dropped && !absent_row(row)));
    CHECK(write_commit(read) == row);
    for (size_t cut = 0; cut < row.size(); ++cut) CHECK(is_refused(20, BytesView(row).substr(0, cut)));
  }
  commit.parents = {20};
  CHECK(is_refused(20, write_commit(commit)));  // nobody comes from itself
  const Bytes row = write_commit({.id = commit.id, .number = 20, .dropped = true, .absent = true});
  const Commit read = read_commit(20, row);
  CHECK((read.absent && read.dropped && read.id == commit.id && dropped_row(row) && absent_row(row)));
  for (size_t cut = 0; cut < row.size(); ++cut) CHECK(is_refused(20, BytesView(row).substr(0, cut)));
  CHECK(is_refused(20, row + "x"));
}

TEST_CASE("a commit's parents have lower numbers, and its states are of its past, or its row is damaged") {
  const Commit commit{.number = 20, .parents = {19}, .collections = {{.collection = 1, .label = "u", .state = 20}}};
  const Bytes row = write_commit(commit);
  CHECK_FALSE(is_refused(20, row));
  const size_t parent_at = 1 + sizeof(Hash) + 1;
  REQUIRE(row[parent_at] == 1);
  for (const char distance : {0, 21}) {
    Bytes damaged = row;
    damaged[parent_at] = distance;
    CHECK(is_refused(20, damaged));
  }
  const size_t state_at = row.size() - sizeof(Hash) - 1;
  REQUIRE(row[state_at] == 0);
  Bytes damaged = row;
  damaged[state_at] = 21;
  CHECK(is_refused(20, damaged));
}

TEST_CASE("a branch's row reads as it was written, and cut short not at all") {
  const Branch branch{.name = "dev", .id = BranchId{300}, .head = 1 << 20, .segment = first_segment};
  const Bytes row = write_branch(branch);
  const Branch again = read_branch("dev", row);
  CHECK((again.name == "dev" && again.id == branch.id && again.head == branch.head && again.segment == branch.segment));
  for (size_t cut = 0; cut < row.size(); ++cut)
    CHECK_THROWS_AS(read_branch("dev", BytesView(row).substr(0, cut)), base::OperationError);
  CHECK_THROWS_AS(dropped_row(""), base::OperationError);
}

TEST_CASE("version graph: numbers of commits that are cut short are refused as damaged") {
  storage::TemporaryDirectory directory;
  storage::Engine engine(storage::test_options(directory.path()));
  VersionGraph graph(engine, 1);
  const storage::Table commits("versions-db1-commits"), ids("versions-db1-ids");
  constexpr auto corrupt = base::ErrorCode::data_corruption_detected;
  const Hash id = merkle::sha256("commit");
  Transaction transaction(engine, Transaction::Mode::write);
  ids.put(transaction, view(id), "short");
  CHECK(base::testing::error_of([&] { graph.find(transaction, id); }) == corrupt);
  CHECK(base::testing::error_of([&] { graph.find(transaction, base::to_hex(view(id))); }) == corrupt);
  commits.put(transaction, "short", write_commit({.id = id, .number = 3}));
  CHECK(base::testing::error_of([&] { graph.first(transaction); }) == corrupt);
  CHECK(base::testing::error_of([&] { graph.graph(transaction); }) == corrupt);
  CHECK(base::testing::error_of([&] { graph.roots(transaction); }) == corrupt);
}

}  // namespace versions
