#include "storage/engine/damaged_replay.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/testing.h"
#include "storage/engine/directory.h"
#include "storage/engine/internals.h"
#include "storage/engine/readable_rows.h"
#include "storage/testing/damage.h"
#include "storage/testing/temporary_store.h"

using namespace storage;
using namespace storage::test;

// This is what the linker puts in front of WiredTiger's scan of the journal.
int scan_journal(WT_SESSION* session, void* from, void* to, uint32_t flags,
                 int (*apply)(WT_SESSION*, WT_ITEM*, void*, void*, void*, int), void* cookie) __asm__("__wrap___wt_log_scan");

namespace {

constexpr RecordId rows = 4000;

Bytes content(RecordId row, int version) {
  return std::to_string(row) + ":" + std::to_string(version) + std::string(400, static_cast<char>('a' + row % 26));
}

using Model = std::map<RecordId, Bytes>;

void put(Engine& engine, const Table& table, Model& model, RecordId row, int version) {
  model[row] = content(row, version);
  in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, record_key(row), model[row]); });
}

void remove(Engine& engine, const Table& table, Model& model, RecordId from, RecordId to) {
  model.erase(model.lower_bound(from), model.upper_bound(to));
  in_transaction(engine, [&](Transaction& transaction) {
    if (from == to)
      table.remove(transaction, record_key(from));
    else
      table.truncate(transaction, record_key(from), record_key(to));
  });
}

// Makes a directory as kill -9 leaves it: everything but the first 4000 rows is in the journal alone. The changes hit pages in
// the middle and at the end, remove rows, and remove ranges that begin and end within pages.
Model make_crashed(const TemporaryDirectory& crashed) {
  TemporaryDirectory directory;
  Model model;
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  for (RecordId row = 1; row <= rows; ++row) put(engine, table, model, row, 1);
  engine.checkpoint();
  for (RecordId row = 1; row <= rows; row += 3) put(engine, table, model, row, 2);
  for (RecordId row = 10; row <= rows; row += 50) remove(engine, table, model, row, row);
  remove(engine, table, model, 500, 1200);
  for (RecordId row = 700; row <= 740; ++row) put(engine, table, model, row, 3);
  for (RecordId row = rows + 1; row <= rows + 300; ++row) put(engine, table, model, row, 1);
  engine.wait_durable();
  directory.copy_to(crashed);
  return model;
}

// Returns the rows that can't be read. All others have to be what the model says.
std::vector<RecordId> unreadable(Engine& engine, const Table& table, const Model& model) {
  std::vector<RecordId> damaged;
  for (RecordId row = 1; row <= rows + 310; ++row) {
    Transaction transaction(engine, Transaction::Mode::read);
    CAPTURE(row);
    try {
      const auto found = table.get(transaction, record_key(row));
      const auto expected = model.find(row);
      REQUIRE(found.has_value() == (expected != model.end()));
      if (found) REQUIRE(*found == expected->second);
    } catch (const base::OperationError& error) {
      REQUIRE(error.code() == base::ErrorCode::data_corruption_detected);
      damaged.push_back(row);
    }
  }
  return damaged;
}

bool journal_changed(RecordId row) {
  return row % 3 == 1 || row % 50 == 10 || (row >= 500 && row <= 1200) || row > rows;
}

std::vector<FileBlock> leaves_of(const std::string& path) {
  std::vector<FileBlock> leaves = file_blocks(path);
  std::erase_if(leaves, [](const FileBlock& block) { return !block.leaf; });
  return leaves;
}

// Damages one page that the journal changes.
void damage_a_leaf(const TemporaryDirectory& directory) {
  const std::string path = directory.path() + "/things.wt";
  const FileBlock hit = leaves_of(path).at(5);
  flip_byte(path, hit.offset + hit.bytes / 2);
}

bool has_rows_aside(const TemporaryDirectory& directory) {
  return std::filesystem::exists(directory.path() + "/" + unapplied_file);
}

int64_t failed_drops(Engine& engine) {
  return engine_statistic(engine.internals().connection, WT_STAT_CONN_SESSION_TABLE_DROP_FAIL);
}

// Keeps a table from being dropped.
class Reader {
 public:
  Reader(Engine& engine, const Table& table)
      : transaction_(engine, Transaction::Mode::read), cursor_(table.cursor(transaction_)) {
    CHECK(cursor_->next());
  }

 private:
  Transaction transaction_;
  std::optional<TableCursor> cursor_;
};

// Returns where the zeros begin with which a journal's file ends.
uint64_t written_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const Bytes bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return bytes.find_last_not_of('\0') + 1;
}

// Returns the offsets and lengths of a journal file's records of more than 400 bytes whose last byte is zero.
std::vector<std::pair<uint64_t, uint64_t>> zero_ended_records(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const Bytes file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<std::pair<uint64_t, uint64_t>> found;
  for (size_t at = 0; at + 128 <= file.size();) {
    const auto bytes = base::load_le<uint32_t>(file.data() + at);
    if (bytes == 0 || bytes > file.size() - at) break;
    if (bytes > 400 && file[at + bytes - 1] == '\0') found.emplace_back(at, bytes);
    at += (bytes + 127) / 128 * 128;
  }
  return found;
}

}  // namespace

TEST_CASE("a damaged page that the journal changes costs its rows alone, and a repair has the journal's") {
  const int page = GENERATE(0, 5, 9, -1);
  CAPTURE(page);
  TemporaryDirectory directory;
  const Model model = make_crashed(directory);
  const std::string path = directory.path() + "/things.wt";
  const auto leaves = leaves_of(path);
  REQUIRE(leaves.size() > 12);
  const FileBlock& hit = page < 0 ? leaves.back() : leaves[static_cast<size_t>(page)];
  flip_byte(path, hit.offset + hit.bytes / 2);

  std::vector<RecordId> damaged;
  for (int start = 0; start < 3; ++start) {
    Engine engine(test_options(directory.path()));
    const Table table = engine.open_table("things");
    CHECK(std::filesystem::exists(directory.path() + "/" + unapplied_file));
    const auto now = unreadable(engine, table, model);
    REQUIRE_FALSE(now.empty());
    CHECK(now.size() < rows / 4);
    if (start > 0) CHECK(now == damaged);
    damaged = now;
    if (start == 2) {
      const Tables::Kept kept = engine.internals().tables.keep_readable(engine, "things");
      CHECK(kept.from_journal > 0);
      CHECK_FALSE(kept.salvaged);
    }
    if (start < 2) engine.checkpoint();
  }
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  CHECK_FALSE(std::filesystem::exists(directory.path() + "/" + unapplied_file));
  for (const RecordId row : damaged) {
    Transaction transaction(engine, Transaction::Mode::read);
    const auto found = table.get(transaction, record_key(row));
    const auto expected = model.find(row);
    CAPTURE(row);
    if (!journal_changed(row) || expected == model.end()) {
      CHECK_FALSE(found.has_value());  // the page alone had it, or it was removed
    } else {
      REQUIRE(found.has_value());
      CHECK(*found == expected->second);
    }
  }
}

TEST_CASE("the journal's rows outlive a file that is gone") {
  TemporaryDirectory directory;
  const Model model = make_crashed(directory);
  std::filesystem::remove(directory.path() + "/things.wt");
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  CHECK_FALSE(can_be_read(engine, table));
  engine.internals().tables.keep_readable(engine, "things");
  size_t there = 0;
  for (RecordId row = 1; row <= rows + 300; ++row) {
    Transaction transaction(engine, Transaction::Mode::read);
    const auto found = table.get(transaction, record_key(row));
    const auto expected = model.find(row);
    CAPTURE(row);
    if (found) {
      REQUIRE(expected != model.end());
      CHECK(*found == expected->second);
    }
    CHECK(found.has_value() == (expected != model.end() && (row % 3 == 1 || (row >= 700 && row <= 740) || row > rows)));
    there += found.has_value();
  }
  CHECK(there > rows / 4);
}

TEST_CASE("what the journal had is applied at the next start when the page can be read again") {
  TemporaryDirectory directory;
  const Model model = make_crashed(directory);
  const std::string path = directory.path() + "/things.wt";
  const uint64_t at = leaves_of(path)[5].offset + 100;
  flip_byte(path, at);
  {
    Engine engine(test_options(directory.path()));
    CHECK_FALSE(unreadable(engine, engine.open_table("things"), model).empty());
  }
  flip_byte(path, at);
  Engine engine(test_options(directory.path()));
  CHECK(unreadable(engine, engine.open_table("things"), model).empty());
  CHECK_FALSE(std::filesystem::exists(directory.path() + "/" + unapplied_file));
}

TEST_CASE("what the journal had is not overtaken when the page can be read again before it is applied") {
  TemporaryDirectory directory;
  const Model model = make_crashed(directory);
  const std::string path = directory.path() + "/things.wt";
  const uint64_t at = leaves_of(path)[5].offset + 100;
  flip_byte(path, at);
  UnappliedRows::Rows aside;
  {
    Engine engine(test_options(directory.path()));
    const Table table = engine.open_table("things");
    flip_byte(path, at);
    engine.open_table("others");  // what was known of damaged blocks is forgotten
    // Each row is the newest one, or can't be read.
    const auto waiting = unreadable(engine, table, model);
    aside = engine.internals().unapplied.of("things");
    REQUIRE(waiting.size() == aside.size());
    REQUIRE(waiting.size() > 10);
    const auto corrupt = [&](const auto& work) {
      try {
        in_transaction(engine, work);
        return false;
      } catch (const base::OperationError& error) {
        return error.code() == base::ErrorCode::data_corruption_detected;
      }
    };
    for (const RecordId row : waiting) {
      CAPTURE(row);
      const Bytes key = record_key(row), before = record_key(row - 1), behind = record_key(row + 1);
      CHECK(aside.contains(key));
      CHECK(corrupt([&](Transaction& transaction) { table.put(transaction, key, "newer"); }));
      CHECK(corrupt([&](Transaction& transaction) { table.insert(transaction, key, "newer"); }));
      CHECK(corrupt([&](Transaction& transaction) { table.remove(transaction, key); }));
      CHECK(corrupt([&](Transaction& transaction) { table.cursor(transaction).seek(key); }));
      CHECK(corrupt([&](Transaction& transaction) { table.cursor(transaction).seek_back(key); }));
      if (aside.contains(before) || aside.contains(behind)) continue;
      const auto steps_over = [&](const Bytes& from, bool (TableCursor::*step)()) {
        return corrupt([&](Transaction& transaction) {
          TableCursor cursor = table.cursor(transaction);
          if (!cursor.seek(from) || cursor.key() != from) throw base::OperationError(base::ErrorCode::no_such_key, "no such row");
          (cursor.*step)();
        });
      };
      if (model.contains(row - 1)) CHECK(steps_over(before, &TableCursor::next));
      if (model.contains(row + 1)) CHECK(steps_over(behind, &TableCursor::previous));
    }
    CHECK(corrupt([&](Transaction& transaction) {
      TableCursor cursor = table.cursor(transaction);
      while (cursor.next()) {
      }
    }));
    bool busy = false;
    CHECK_FALSE(engine.internals().tables.verify("things", busy).empty());
    if (GENERATE(false, true)) {
      CHECK(engine.internals().tables.keep_readable(engine, "things").rows == static_cast<int64_t>(model.size()));
      CHECK(unreadable(engine, table, model).empty());
    }
  }
  Engine engine(test_options(directory.path()));
  CHECK(unreadable(engine, engine.open_table("things"), model).empty());
  CHECK_FALSE(has_rows_aside(directory));
}

TEST_CASE("a start that has rows aside needs no room for them on the disk") {
  TemporaryDirectory directory, crashed;
  const Model model = make_crashed(directory);
  damage_a_leaf(directory);
  { const Engine first(test_options(directory.path())); }
  // No file of the directory can be written anew now.
  const std::string draft = directory.path() + "/" + unapplied_file + ".new";
  REQUIRE(std::filesystem::create_directory(draft));
  Engine engine(test_options(directory.path()));
  CHECK_FALSE(unreadable(engine, engine.open_table("things"), model).empty());
  CHECK(has_rows_aside(directory));
}

TEST_CASE("no exception leaves what WiredTiger's replay calls") {
  const auto result = [](const auto& error) { return replay_result([&]() -> int { throw error; }); };
  CHECK(replay_result([] { return 7; }) == 7);
  CHECK(result(std::bad_alloc()) == ENOMEM);
  CHECK(result(base::OperationError(base::ErrorCode::out_of_disk_space, "full")) == ENOSPC);
  CHECK(result(base::OperationError(base::ErrorCode::internal_error, "other")) == EINVAL);
  CHECK(result(std::filesystem::filesystem_error("full", std::error_code(ENOSPC, std::generic_category()))) == ENOSPC);
  CHECK(result(std::filesystem::filesystem_error("denied", std::error_code(EACCES, std::generic_category()))) == EINVAL);
  CHECK(result(std::length_error("too long")) == EINVAL);
  CHECK(result(7) == EINVAL);
}

TEST_CASE("a replay that fails saves the rows that it has put aside") {
  TemporaryDirectory directory, other;
  Engine engine(test_options(directory.path()));
  Model model;
  put(engine, engine.open_table("things"), model, 1, 1);
  engine.wait_durable();
  constexpr uint32_t from_first = 0x01, replays_tables = 0x08;
  UnappliedRows aside(other.path(), nullptr);
  aside.change("things", "key", "value");
  const wt::Session session = engine.internals().connection.open_session();
  const DamagedReplay replay(aside);
  const auto fail = [](WT_SESSION*, WT_ITEM*, void*, void*, void*, int) { return EIO; };
  CHECK(scan_journal(session.get(), nullptr, nullptr, from_first | replays_tables, fail, nullptr) == EIO);
  CHECK(UnappliedRows(other.path(), nullptr).of("things").size() == 1);
}

TEST_CASE("rows of the journal don't come back into a table that was made anew") {
  TemporaryDirectory directory;
  make_crashed(directory);
  const std::string path = directory.path() + "/things.wt";
  flip_byte(path, leaves_of(path)[5].offset + 100);
  {
    Engine engine(test_options(directory.path()));
    const Table table = engine.open_table("things");
    engine.make_empty(table);
  }
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  ReadableRows walk(engine, table);
  CHECK_FALSE(walk.next());
}

TEST_CASE("a crash in the midst of a repair leaves the journal's rows aside") {
  TemporaryDirectory directory, crashed;
  const Model model = make_crashed(directory);
  damage_a_leaf(directory);
  {
    Engine engine(test_options(directory.path()));
    const Table table = engine.open_table("things");
    std::optional<Reader> reader(std::in_place, engine, table);
    const int64_t before = failed_drops(engine);
    auto repair = std::async(std::launch::async, [&] { return engine.internals().tables.keep_readable(engine, "things"); });
    CHECK(base::testing::wait_until([&] { return failed_drops(engine) > before; }));
    directory.copy_to(crashed);
    reader.reset();
    CHECK(repair.get().from_journal > 0);
    CHECK_FALSE(has_rows_aside(directory));
  }
  Engine engine(test_options(crashed.path()));
  const Table table = engine.open_table("things");
  const auto damaged = unreadable(engine, table, model);
  CHECK_FALSE(damaged.empty());
  CHECK(engine.internals().tables.keep_readable(engine, "things").from_journal > 0);
  for (const RecordId row : damaged) {
    const auto expected = model.find(row);
    if (!journal_changed(row) || expected == model.end()) continue;
    CAPTURE(row);
    Transaction transaction(engine, Transaction::Mode::read);
    CHECK(table.get(transaction, record_key(row)) == expected->second);
  }
}

TEST_CASE("a crash after a repair, before the journal's rows are forgotten, puts them in once more") {
  TemporaryDirectory directory;
  const Model model = make_crashed(directory);
  damage_a_leaf(directory);
  const std::string path = directory.path() + "/" + unapplied_file, kept = directory.path() + ".kept";
  const auto all_rows = [](Engine& engine) {
    std::map<Bytes, Bytes> rows;
    ReadableRows walk(engine, engine.open_table("things"));
    while (walk.next()) rows.emplace(walk.key(), walk.value());
    return rows;
  };
  std::map<Bytes, Bytes> repaired;
  {
    Engine engine(test_options(directory.path()));
    engine.open_table("things");
    std::filesystem::copy_file(path, kept);
    engine.internals().tables.keep_readable(engine, "things");
    repaired = all_rows(engine);
    CHECK(repaired.size() > rows / 2);
  }
  std::filesystem::rename(kept, path);
  Engine engine(test_options(directory.path()));
  CHECK_FALSE(has_rows_aside(directory));
  CHECK(all_rows(engine) == repaired);
}

TEST_CASE("a dropped table's rows stay aside as long as its file is there") {
  TemporaryDirectory directory, crashed;
  const Model model = make_crashed(directory);
  damage_a_leaf(directory);
  {
    Engine engine(test_options(directory.path()));
    const Table table = engine.open_table("things");
    std::optional<Reader> reader(std::in_place, engine, table);
    const int64_t before = failed_drops(engine);
    engine.drop_table("things");
    CHECK(base::testing::wait_until([&] { return failed_drops(engine) > before; }));
    directory.copy_to(crashed);
    reader.reset();
    CHECK(base::testing::wait_until([&] { return !has_rows_aside(directory); }));
  }
  Engine engine(test_options(crashed.path()));
  CHECK(has_rows_aside(crashed));
  CHECK_FALSE(unreadable(engine, engine.open_table("things"), model).empty());
}

TEST_CASE("rows of a table that is gone don't come into another one of its name") {
  TemporaryDirectory directory;
  prepare_directory(directory.path());
  {
    UnappliedRows aside(directory.path(), nullptr);
    aside.change("counts", "key", "value");  // the engine makes a table of this name
    aside.save();
  }
  Engine engine(test_options(directory.path()));
  ReadableRows walk(engine, engine.internals().counts);
  CHECK_FALSE(walk.next());
  CHECK_FALSE(has_rows_aside(directory));
}

TEST_CASE("a journal that is damaged before its end is never taken for a shorter one") {
  const bool missing = GENERATE(false, true);
  TemporaryDirectory directory;
  const Model model = make_crashed(directory);
  const std::string journal = directory.path() + "/journal/WiredTigerLog.0000000001";
  if (missing) {
    std::filesystem::remove(journal);
  } else {
    // Half of these places are before the last checkpoint, and nobody needs them.
    const uint64_t end = written_bytes(journal);
    for (uint64_t at = end / 10; at < end; at += end / 10) flip_byte(journal, at);
  }
  EngineOptions options = test_options(directory.path());
  for (int start = 0; start < 2; ++start)
    CHECK_THROWS_WITH(Engine(options),
                      Catch::Contains(missing ? "journal's files are missing" : "0000000001 is damaged at offset"));
  // A salvage gets through, and says what it can't know.
  options.salvage = true;
  Engine engine(options);
  ReadableRows walk(engine, engine.open_table("things"));
  int64_t there = 0;
  for (; walk.next(); ++there) CHECK(walk.value().starts_with(std::to_string(record_from_key(walk.key())) + ":"));
  CHECK(there >= rows / 2);
}

TEST_CASE("each byte of the journal behind the last checkpoint is checked") {
  TemporaryDirectory sound;
  const Model model = make_crashed(sound);
  const uint64_t end = written_bytes(sound.path() + "/journal/WiredTigerLog.0000000001");
  base::Random random(GENERATE(range(1, 9)));
  for (int i = 0; i < 5; ++i) {
    TemporaryDirectory directory;
    std::filesystem::copy(sound.path(), directory.path(),
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
    const uint64_t at = random.below(end);
    CAPTURE(at);
    flip_byte(directory.path() + "/journal/WiredTigerLog.0000000001", at);
    try {
      Engine engine(test_options(directory.path()));
      CHECK(unreadable(engine, engine.open_table("things"), model).empty());  // a byte that nobody needs
    } catch (const base::OperationError& error) {
      CHECK(error.code() == base::ErrorCode::data_corruption_detected);
    }
  }
}

TEST_CASE("a record that the crash cut short ends the journal") {
  const bool between_sectors = GENERATE(true, false);
  TemporaryDirectory directory;
  const Model model = make_crashed(directory);
  const std::string journal = directory.path() + "/journal/WiredTigerLog.0000000001";
  const uint64_t end = written_bytes(journal), from = between_sectors ? (end - 1) / 512 * 512 : (end + 127) / 128 * 128 - 64;
  zero_bytes(journal, from, end - from);
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  Transaction transaction(engine, Transaction::Mode::read);
  CHECK(table.get(transaction, record_key(rows + 1)) == model.at(rows + 1));
}

TEST_CASE("a damaged record that ends with a zero of its own is not taken for one that a crash cut short") {
  const std::string first_file = "/journal/WiredTigerLog.0000000001";
  TemporaryDirectory directory, crashed;
  uint64_t from = 0;
  {
    Engine engine(test_options(directory.path()));
    const Table table = engine.open_table("things");
    engine.checkpoint();
    engine.wait_durable();
    from = written_bytes(directory.path() + first_file);
    base::Random random(1);
    for (size_t bytes = 400; bytes < 400 + 2 * 128; ++bytes) {  // journal records of each length
      Bytes value;
      while (value.size() < bytes) value.push_back(static_cast<char>(1 + random.below(255)));
      value.back() = '\0';
      in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, std::to_string(bytes), value); });
    }
    engine.wait_durable();
    directory.copy_to(crashed);
  }
  const std::string journal = crashed.path() + first_file;
  int tried = 0;
  for (const auto& [offset, bytes] : zero_ended_records(journal)) {
    if (offset < from) continue;  // the replay begins behind the checkpoint
    CAPTURE(offset, bytes);
    const uint64_t at = offset + bytes / 2;
    flip_byte(journal, at);
    CHECK_THROWS_WITH(Engine(test_options(crashed.path())), Catch::Contains("is damaged at offset " + std::to_string(offset)));
    flip_byte(journal, at);
    ++tried;
  }
  CHECK(tried >= 4);
  Engine engine(test_options(crashed.path()));
  CHECK(can_be_read(engine, engine.open_table("things")));
}

TEST_CASE("damage to WiredTiger's own files still ends the start") {
  TemporaryDirectory directory;
  make_crashed(directory);
  std::filesystem::remove(directory.path() + "/WiredTiger.copy");
  std::filesystem::resize_file(directory.path() + "/WiredTiger.wt", 512);
  CHECK_THROWS_AS(Engine(test_options(directory.path())), base::OperationError);
}

TEST_CASE("a crash while a copy of a copied table is damaged loses nothing") {
  const std::string which = GENERATE(std::string("t"), std::string("t_copy"));
  TemporaryDirectory directory, crashed;
  const TableOptions copied{.copied = true};
  {
    Engine engine(test_options(directory.path()));
    const Table table = engine.open_table("t", copied);
    Model model;
    for (RecordId row = 1; row <= rows; ++row) put(engine, table, model, row, 1);
    engine.checkpoint();
    for (RecordId row = 1; row <= rows; row += 3) put(engine, table, model, row, 2);
    engine.wait_durable();
    directory.copy_to(crashed);
  }
  const std::string path = crashed.path() + "/" + which + ".wt";
  for (const FileBlock& block : leaves_of(path)) flip_byte(path, block.offset + 100);
  for (int start = 0; start < 2; ++start) {
    Engine engine(test_options(crashed.path()));
    const Table table = engine.open_table("t", copied);
    for (const Table& each : {Table("t"), Table("t_copy")}) {
      for (RecordId row = 1; row <= rows; ++row) {
        Transaction transaction(engine, Transaction::Mode::read);
        const auto found = each.get(transaction, record_key(row));
        REQUIRE(found.has_value());
        REQUIRE(*found == content(row, row % 3 == 1 ? 2 : 1));
      }
    }
  }
}
