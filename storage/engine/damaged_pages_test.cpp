#include "storage/engine/damaged_pages.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include "base/random.h"
#include "storage/engine/internals.h"
#include "storage/engine/readable_rows.h"
#include "storage/testing/damage.h"
#include "storage/testing/temporary_store.h"

using namespace storage;
using namespace storage::test;

namespace {

constexpr RecordId rows = 4000;

Bytes content(RecordId row) {
  base::Random random(static_cast<uint64_t>(row));
  Bytes bytes;
  while (bytes.size() < 500) bytes.push_back(static_cast<char>(random.below(256)));
  return bytes;
}

struct Read {
  size_t right = 0, damaged = 0;
};

// Reads each row by its key. Whatever can be read has to be what was written.
Read read_rows(Engine& engine, const Table& table) {
  Read read;
  for (RecordId row = 1; row <= rows; ++row) {
    Transaction transaction(engine, Transaction::Mode::read);
    try {
      const auto bytes = table.get(transaction, record_key(row));
      REQUIRE(bytes.has_value());
      REQUIRE(*bytes == content(row));
      ++read.right;
    } catch (const base::OperationError& error) {
      REQUIRE(error.code() == base::ErrorCode::data_corruption_detected);
      REQUIRE_THAT(error.what(), Catch::Contains("table things of everybody"));
      ++read.damaged;
    }
  }
  return read;
}

void fill(Engine& engine, const std::string& name) {
  const Table table = engine.open_table(name);
  for (RecordId row = 1; row <= rows; ++row) {
    in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, record_key(row), content(row)); });
  }
}

// Runs the cleanup that WiredTiger does every five minutes. If it fails, the process ends.
void clean_up(Engine& engine) {
  wt::Connection& connection = engine.internals().connection;
  const int64_t before = engine_statistic(connection, WT_STAT_CONN_CHECKPOINT_CLEANUP_SUCCESS);
  const wt::Session session = connection.open_session();
  while (engine_statistic(connection, WT_STAT_CONN_CHECKPOINT_CLEANUP_SUCCESS) == before) {
    wt::check(session->checkpoint(session.get(), "force=true,debug=(checkpoint_cleanup=true)"), "asking for the cleanup");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

TEST_CASE("a damaged page fails the reads that need it, and nothing else") {
  using Damage = std::function<void(const std::string& path, const std::vector<FileBlock>& leaves)>;
  const auto [name, damage] = GENERATE(table<std::string, Damage>({
      {"a flipped byte", [](const auto& path, const auto& leaves) { flip_byte(path, leaves[5].offset + leaves[5].bytes / 2); }},
      {"a flipped header", [](const auto& path, const auto& leaves) { flip_byte(path, leaves[5].offset + 3); }},
      {"zeros", [](const auto& path, const auto& leaves) { zero_bytes(path, leaves[5].offset, leaves[5].bytes); }},
      {"swapped pages", [](const auto& path, const auto& leaves) { swap_blocks(path, leaves[5], leaves[9]); }},
      {"a lost end", [](const auto& path, const auto& leaves) { std::filesystem::resize_file(path, leaves[12].offset + 512); }},
  }));
  CAPTURE(name);
  TemporaryDirectory directory;
  {
    Engine engine(test_options(directory.path()));
    fill(engine, "things");
    fill(engine, "others");
  }
  const std::string path = directory.path() + "/things.wt";
  std::vector<FileBlock> leaves = file_blocks(path);
  std::erase_if(leaves, [](const FileBlock& block) { return !block.leaf; });
  REQUIRE(leaves.size() > 14);
  damage(path, leaves);

  for (int start = 0; start < 2; ++start) {
    Engine engine(test_options(directory.path()));
    engine.name_tables([](std::string_view) { return "everybody"; });
    const Table things = engine.open_table("things"), others = engine.open_table("others");
    const Read before = read_rows(engine, things);
    CHECK(before.damaged > 0);
    // The end of the file has also the page that leads to all others.
    if (name != "a lost end") CHECK(before.right > before.damaged);
    if (before.right > 0) {
      const auto pages = engine.damaged_pages();
      const bool named = std::all_of(pages.begin(), pages.end(), [](const DamagedPage& page) { return page.table == "things"; });
      CHECK(named);
      if (name != "a lost end") CHECK(pages.size() <= 2);
    }
    if (before.right > 0 && start == 0) {
      ReadableRows walk(engine, things);
      size_t walked = 0;
      for (; walk.next(); ++walked) CHECK(walk.value() == content(record_from_key(walk.key())));
      CHECK(walked == before.right);
      CHECK(walk.holes() > 0);
    }
    // Writes that don't need the page go on, in the damaged table and in the others, and a checkpoint keeps them.
    const RecordId more = rows + 1 + start;
    in_transaction(engine, [&](Transaction& transaction) {
      if (name != "a lost end") things.put(transaction, record_key(more), "more");
      others.put(transaction, record_key(more), "more");
    });
    engine.checkpoint();
    clean_up(engine);
    CHECK(read_rows(engine, others).right == rows);
    const Read after = read_rows(engine, things);
    CHECK(after.damaged == before.damaged);
    // A write into the page fails as a read does.
    for (RecordId row = 1; row <= rows && start == 1; ++row) {
      bool read = true;
      try {
        Transaction transaction(engine, Transaction::Mode::read);
        things.get(transaction, record_key(row));
      } catch (const base::OperationError&) {
        read = false;
      }
      if (read) continue;
      CHECK_THROWS_AS(
          in_transaction(engine, [&](Transaction& transaction) { things.put(transaction, record_key(row), "other"); }),
          base::OperationError);
      break;
    }
  }
}

TEST_CASE("WiredTiger's messages say which page is damaged") {
  const auto wrong = damaged_page(
      "[1785][1:0x1], file:records-17.wt, WT_CURSOR.search: [WT_VERB_DEFAULT][ERROR]: __wti_block_read_off, 283: records-17.wt: "
      "potential hardware corruption, read checksum error for 4096B block at offset 8192: block header checksum of 0x1 doesn't "
      "match expected checksum of 0x2");
  CHECK(wrong == DamagedPage{"records-17", 8192, 4096});
  const auto dump = damaged_page(
      "[1785][1:0x1], file:records-17.wt, WT_CURSOR.search: [WT_VERB_DEFAULT][ERROR]: __bm_corrupt_dump, 114: {0: 8192, 4096, "
      "0x3e1f}: (chunk 1 of 4): 00 00 ");
  CHECK(dump == DamagedPage{"records-17", 8192, 4096});
  CHECK_FALSE(damaged_page("records-17.wt: handle-read: failed to read 4096 bytes at offset 8192"));
  CHECK_FALSE(damaged_page(""));
}
