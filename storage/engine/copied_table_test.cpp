#include "storage/engine/copied_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "storage/engine/internals.h"
#include "storage/testing/damage.h"
#include "storage/testing/test_support.h"

namespace storage {
namespace {

const TableOptions copied{.copied = true};

void write(Engine& engine, const Table& table, int first, int count) {
  in_transaction(engine, [&](Transaction& transaction) {
    for (int i = first; i < first + count; ++i)
      table.put(transaction, record_key(i), std::string(300, static_cast<char>('a' + i % 26)));
  });
}

std::vector<Bytes> rows(Engine& engine, const Table& table) {
  Transaction transaction(engine, Transaction::Mode::read);
  TableCursor cursor = table.cursor(transaction);
  std::vector<Bytes> all;
  while (cursor.next()) all.push_back(Bytes(cursor.key()) + "=" + Bytes(cursor.value()));
  return all;
}

std::string file(const StoreOptions& options, const std::string& table) {
  return options.path + "/" + table + ".wt";
}

void damage(const StoreOptions& options, const std::string& table, int how) {
  const std::string path = file(options, table);
  if (how == 0) {
    for (const test::FileBlock& block : test::file_blocks(path)) test::flip_byte(path, block.offset + 60);
  } else if (how == 1) {
    test::zero_bytes(path, 0, 4096);
  } else {
    std::filesystem::remove(path);
  }
}

// Both tables have these rows after the next start, and after the one behind it.
void check_both(const StoreOptions& options, const std::vector<Bytes>& expected) {
  for (int start = 0; start < 2; ++start) {
    Store store(options);
    Engine& engine = store.engine();
    CHECK(rows(engine, engine.open_table("t", copied)) == expected);
    CHECK(rows(engine, Table("t_copy")) == expected);
  }
}

}  // namespace

TEST_CASE("writes to a copied table go to both") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  Engine& engine = store.engine();
  const Table table = engine.open_table("t", copied);
  write(engine, table, 0, 20);
  in_transaction(engine, [&](Transaction& transaction) {
    CHECK(table.remove(transaction, record_key(3)));
    CHECK_FALSE(table.remove(transaction, record_key(100)));
    CHECK_FALSE(table.insert(transaction, record_key(4), "other"));
    CHECK(table.insert(transaction, record_key(30), "inserted"));
    table.truncate(transaction, record_key(8), record_key(12));
  });
  CHECK(rows(engine, table).size() == 15);
  CHECK(rows(engine, table) == rows(engine, Table("t_copy")));
  const auto before = engine.table_names();
  CHECK(std::count(before.begin(), before.end(), "t") == 1);
  CHECK(std::count(before.begin(), before.end(), "t_copy") == 0);
  engine.drop_table("t");
  CHECK(engine.table_names().size() == before.size() - 1);
}

TEST_CASE("a copied table outlives damage to one of the two") {
  const std::string which = GENERATE(std::string("t"), std::string("t_copy"));
  const int how = GENERATE(0, 1, 2);
  TemporaryDirectory directory;
  const StoreOptions options = test_options(directory.path());
  std::vector<Bytes> before;
  {
    Store store(options);
    Engine& engine = store.engine();
    const Table table = engine.open_table("t", copied);
    write(engine, table, 0, 500);
    before = rows(engine, table);
  }
  damage(options, which, how);
  for (int start = 0; start < 2; ++start) {
    Store store(options);
    Engine& engine = store.engine();
    const Table table = engine.open_table("t", copied);
    CHECK(rows(engine, table) == before);
    CHECK(rows(engine, Table("t_copy")) == before);
    write(engine, table, 1000 + start, 1);
    before = rows(engine, table);
  }
}

TEST_CASE("a copied table of which both are damaged can't be opened") {
  TemporaryDirectory directory;
  const StoreOptions options = test_options(directory.path());
  {
    Store store(options);
    Engine& engine = store.engine();
    write(engine, engine.open_table("t", copied), 0, 500);
  }
  damage(options, "t", 0);
  damage(options, "t_copy", 0);
  Store store(options);
  Engine& engine = store.engine();
  CHECK_THROWS_AS(engine.open_table("t", copied), base::OperationError);
}

namespace {

std::vector<test::FileBlock> leaves_of(const std::string& path) {
  std::vector<test::FileBlock> leaves = test::file_blocks(path);
  std::erase_if(leaves, [](const test::FileBlock& block) { return !block.leaf; });
  return leaves;
}

// Both files have the same pages, since the same writes made them.
void damage_leaves(const StoreOptions& options, const std::string& table, const std::vector<size_t>& which) {
  const std::string path = file(options, table);
  const auto leaves = leaves_of(path);
  for (const size_t leaf : which) test::flip_byte(path, leaves.at(leaf).offset + 60);
}

}  // namespace

TEST_CASE("two damaged copies make a sound one unless the same rows are damaged") {
  using Leaves = std::vector<size_t>;
  const auto [of_table, of_copy, together] = GENERATE(table<Leaves, Leaves, bool>({
      {{0}, {2}, true},
      {{2, 3}, {0, 6}, true},
      {{1, 5, 9}, {3, 7}, true},
      {{4}, {4}, false},
      {{1, 5}, {3, 5}, false},
      {{3, 4}, {4, 5}, false},
  }));
  TemporaryDirectory directory;
  const StoreOptions options = test_options(directory.path());
  std::vector<Bytes> before;
  {
    Store store(options);
    Engine& engine = store.engine();
    const Table table = engine.open_table("t", copied);
    base::Random random(5);
    in_transaction(engine, [&](Transaction& transaction) {
      for (int i = 0; i < 5000; ++i) table.put(transaction, record_key(i), test::words(random, 300));
    });
    before = rows(engine, table);
  }
  const size_t leaves = leaves_of(file(options, "t")).size();
  REQUIRE(leaves > 10);
  REQUIRE(leaves_of(file(options, "t_copy")).size() == leaves);
  CAPTURE(of_table, of_copy);
  damage_leaves(options, "t", of_table);
  damage_leaves(options, "t_copy", of_copy);
  if (together) return check_both(options, before);
  for (int start = 0; start < 2; ++start) {
    Store store(options);
    CHECK_THROWS_AS(store.engine().open_table("t", copied), base::OperationError);
  }
}

TEST_CASE("a row that only one of two damaged copies has is no row of both") {
  TemporaryDirectory directory;
  const StoreOptions options = test_options(directory.path());
  {
    Store store(options);
    Engine& engine = store.engine();
    base::Random random(5);
    const Table table = engine.open_table("t", copied);
    in_transaction(engine, [&](Transaction& transaction) {
      for (int i = 0; i < 5000; ++i) table.put(transaction, record_key(2 * i), test::words(random, 300));
      // Neither place is damaged.
      Table("t").put(transaction, record_key(1), "of one alone");
    });
  }
  damage_leaves(options, "t", {3});
  damage_leaves(options, "t_copy", {5});
  Store store(options);
  Engine& engine = store.engine();
  CHECK_THROWS_AS(engine.open_table("t", copied), base::OperationError);
}

TEST_CASE("a file that a half-made copy left is in nobody's way") {
  TemporaryDirectory directory;
  const StoreOptions options = test_options(directory.path());
  std::vector<Bytes> before;
  {
    Store store(options);
    Engine& engine = store.engine();
    const Table table = engine.open_table("t");
    write(engine, table, 0, 50);
    before = rows(engine, table);
  }
  std::ofstream(file(options, "t_copy")) << "half made";
  check_both(options, before);
}

TEST_CASE("a damaged table of an older version doesn't get a copy of a part") {
  TemporaryDirectory directory;
  const StoreOptions options = test_options(directory.path());
  {
    Store store(options);
    Engine& engine = store.engine();
    write(engine, engine.open_table("t"), 0, 500);
  }
  damage(options, "t", 0);
  for (int start = 0; start < 2; ++start) {
    Store store(options);
    CHECK_THROWS_AS(store.engine().open_table("t", copied), base::OperationError);
    CHECK_FALSE(store.engine().internals().tables.exists("t_copy"));
  }
}

TEST_CASE("a table of an older version gets its copy") {
  TemporaryDirectory directory;
  const StoreOptions options = test_options(directory.path());
  {
    Store store(options);
    Engine& engine = store.engine();
    write(engine, engine.open_table("t"), 0, 500);
  }
  Store store(options);
  Engine& engine = store.engine();
  const Table table = engine.open_table("t", copied);
  CHECK(rows(engine, table).size() == 500);
  CHECK(rows(engine, table) == rows(engine, Table("t_copy")));
}

}  // namespace storage
