#include "storage/upkeep/backup_archive.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/testing.h"
#include "storage/engine/engine.h"
#include "storage/engine/table.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"
#include "storage/upkeep/backup_stream.h"

namespace storage {
using base::testing::error_of;

namespace {

namespace fs = std::filesystem;
using base::ErrorCode;

constexpr int rows_count = 4000;

// Values of random letters: zeros and repetitions would leave nothing to copy.
void write(Engine& engine, const std::string& name, int first, int count, uint64_t seed) {
  base::Random random(seed);
  const Table table = engine.open_table(name);
  in_transaction(engine, [&](Transaction& transaction) {
    for (int i = first; i < first + count; ++i) table.put(transaction, record_key(i), test::words(random, 1000));
  });
}

std::vector<Bytes> rows(Engine& engine, const std::string& name) {
  const Table table = engine.open_table(name);
  Transaction transaction(engine, Transaction::Mode::read);
  TableCursor cursor = table.cursor(transaction);
  std::vector<Bytes> all;
  while (cursor.next()) all.push_back(Bytes(cursor.key()) + "=" + Bytes(cursor.value()));
  return all;
}

ArchivedBackup back_up(Engine& engine, const fs::path& archive) {
  ArchiveWriter writer(archive);
  BackupStream stream(engine, writer.newest());
  for (Bytes piece = stream.next(); !piece.empty(); piece = stream.next()) writer.write(piece);
  CHECK(stream.done_bytes() == stream.head().bytes);
  return writer.finish();
}

Restored restore(const fs::path& archive, uint64_t number, const fs::path& target) {
  return restore_archive(archive, number, target, [](uint64_t done, uint64_t total) { CHECK(done <= total); });
}

Bytes whole(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

void replace(const fs::path& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

EngineOptions options_of(const fs::path& path) {
  return test_options(path.string());
}

}  // namespace

TEST_CASE("each backup of an archive restores what was there then, and later ones copy little") {
  TemporaryDirectory folder;
  const fs::path data = fs::path(folder.path()) / "data", archive = fs::path(folder.path()) / "archive";
  std::vector<std::vector<Bytes>> there;
  std::vector<ArchivedBackup> made;
  {
    Engine engine(options_of(data));
    write(engine, "big", 0, rows_count, 1);
    write(engine, "goes", 0, 10, 2);
    made.push_back(back_up(engine, archive));
    there.push_back(rows(engine, "big"));
    write(engine, "big", 17, 3, 3);
    write(engine, "comes", 0, 100, 4);
    engine.drop_table("goes");
    made.push_back(back_up(engine, archive));
    there.push_back(rows(engine, "big"));
  }
  Engine engine(options_of(data));  // the id is remembered
  write(engine, "big", rows_count, 5, 5);
  made.push_back(back_up(engine, archive));
  there.push_back(rows(engine, "big"));
  CHECK(made[0].head.link.from.empty());
  CHECK(made[1].head.link.from == made[0].head.link.id);
  CHECK(made[2].head.link.from == made[1].head.link.id);
  CHECK(made[0].head.bytes > 1'500'000);
  for (size_t i = 0; i < made.size(); ++i) {
    const fs::path target = fs::path(folder.path()) / ("restored-" + std::to_string(i + 1));
    const Restored restored = restore(archive, i + 1 < made.size() ? i + 1 : 0, target);
    CHECK(restored.backup.number == i + 1);
    CHECK(restored.backups == i + 1);
    Engine copy(options_of(target));
    CHECK(rows(copy, "big") == there[i]);
    CHECK(rows(copy, "comes").size() == (i > 0 ? 100 : 0));
    // A copy goes another way from here on, so that its own backup begins anew.
    const BackupStream own(copy, made[i].head.link.id);
    CHECK(own.head().link.from.empty());
  }
}

TEST_CASE("a table that was not changed is not copied again") {
  TemporaryDirectory folder;
  const fs::path archive = fs::path(folder.path()) / "archive";
  Engine engine(options_of(fs::path(folder.path()) / "data"));
  write(engine, "still", 0, rows_count, 1);
  write(engine, "moves", 0, rows_count, 2);
  back_up(engine, archive);
  write(engine, "moves", 5, 1, 3);
  const ArchivedBackup made = back_up(engine, archive);
  const Backup now(engine, {.id = "x", .from = made.head.link.id});
  const auto still = now.changed("still.wt");
  REQUIRE(still);
  CHECK(still->empty());
  uint64_t copied = 0;
  const auto changed = now.changed("moves.wt");
  REQUIRE(changed);
  for (const BackupRange& range : *changed) copied += range.bytes;
  CHECK(copied < 1'500'000);
  CHECK_FALSE(now.changed("WiredTiger.backup"));
}

TEST_CASE("a backup whose former one the engine does not know is a whole one") {
  TemporaryDirectory folder;
  const fs::path one = fs::path(folder.path()) / "one", other = fs::path(folder.path()) / "other";
  Engine engine(options_of(fs::path(folder.path()) / "data"));
  write(engine, "t", 0, 10, 1);
  back_up(engine, one);
  back_up(engine, other);
  back_up(engine, other);
  CHECK(back_up(engine, one).head.link.from.empty());
  CHECK(archived_backups(one).size() == 2);
  const fs::path target = fs::path(folder.path()) / "restored";
  CHECK(restore(one, 0, target).backups == 1);
  CHECK(rows(engine, "t") == [&] {
    Engine copy(options_of(target));
    return rows(copy, "t");
  }());
}

TEST_CASE("after a repair the next backup is a whole one") {
  TemporaryDirectory folder;
  const fs::path archive = fs::path(folder.path()) / "archive";
  Engine engine(options_of(fs::path(folder.path()) / "data"));
  forget_backups(engine);  // there is none
  write(engine, "t", 0, 10, 1);
  back_up(engine, archive);
  CHECK_FALSE(back_up(engine, archive).head.link.from.empty());
  forget_backups(engine);
  CHECK(back_up(engine, archive).head.link.from.empty());
  CHECK_FALSE(back_up(engine, archive).head.link.from.empty());
}

TEST_CASE("damage of an archive is found, wherever it is") {
  TemporaryDirectory folder;
  const fs::path archive = fs::path(folder.path()) / "archive", target = fs::path(folder.path()) / "restored";
  {
    Engine engine(options_of(fs::path(folder.path()) / "data"));
    write(engine, "t", 0, 100, 1);
    back_up(engine, archive);
    write(engine, "t", 0, 1, 2);
    back_up(engine, archive);
  }
  const fs::path first = archive / "000001.backup", second = archive / "000002.backup";
  const Bytes sound = whole(first);
  base::Random random(base::testing::seed());
  for (int i = 0; i < 20; ++i) {
    Bytes damaged = sound;
    damaged[random.below(damaged.size())] ^= static_cast<char>(1 << random.below(8));
    replace(first, damaged);
    const ErrorCode code = error_of([&] { restore(archive, 1, target); });
    CHECK((code == ErrorCode::data_corruption_detected || code == ErrorCode::unsupported_format));
    CHECK_FALSE(fs::exists(target));
  }
  for (const size_t bytes : {size_t{0}, size_t{3}, sound.size() / 2, sound.size() - 1}) {
    replace(first, sound.substr(0, bytes));
    CHECK(error_of([&] { restore(archive, 1, target); }) == ErrorCode::data_corruption_detected);
  }
  replace(first, sound + "x");
  CHECK(error_of([&] { restore(archive, 1, target); }) == ErrorCode::data_corruption_detected);
  fs::remove(first);
  CHECK(error_of([&] { restore(archive, 0, target); }) == ErrorCode::data_corruption_detected);  // the second continues it
  replace(first, sound);
  CHECK(error_of([&] { restore(archive, 7, target); }) == ErrorCode::no_such_key);
  CHECK(restore(archive, 0, target).backups == 2);
  CHECK(error_of([&] { restore(archive, 0, target); }) == ErrorCode::bad_value);  // it isn't empty any more
}

TEST_CASE("a backup that was not finished leaves the archive as it was") {
  TemporaryDirectory folder;
  const fs::path archive = fs::path(folder.path()) / "archive";
  Engine engine(options_of(fs::path(folder.path()) / "data"));
  write(engine, "t", 0, 2000, 1);
  const ArchivedBackup first = back_up(engine, archive);
  {
    ArchiveWriter writer(archive);
    CHECK(error_of([&] { ArchiveWriter another(archive); }) == ErrorCode::object_is_busy);
    BackupStream stream(engine, "");
    writer.write(stream.next());
    CHECK(error_of([&] { BackupStream another(engine, ""); }) == static_cast<ErrorCode>(Backup::already_open));
    CHECK(error_of([&] { writer.finish(); }) == ErrorCode::data_corruption_detected);
  }
  replace(archive / "000002.partial", "left by a process that was killed");
  CHECK(archived_backups(archive).size() == 1);
  CHECK(back_up(engine, archive).number == 2);
  CHECK_FALSE(fs::exists(archive / "000002.partial"));
  replace(archive / "notes.txt", "somebody's");
  CHECK(error_of([&] { ArchiveWriter writer(archive); }) == ErrorCode::bad_value);
}

TEST_CASE("a backup is read from pieces of any size, and refuses one that continues another") {
  TemporaryDirectory folder;
  Engine engine(options_of(fs::path(folder.path()) / "data"));
  write(engine, "t", 0, 50, 1);
  Bytes bytes;
  {
    BackupStream stream(engine, "");
    for (Bytes piece = stream.next(); !piece.empty(); piece = stream.next()) bytes += piece;
  }
  base::Random random(base::testing::seed());
  BackupDecoder decoder;
  uint64_t read = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t size = std::min<size_t>(bytes.size() - at, 1 + random.below(5000));
    decoder.feed(BytesView(bytes).substr(at, size));
    while (const auto part = decoder.next()) read += part->bytes();
    at += size;
  }
  CHECK(decoder.ended());
  CHECK(read == decoder.head()->bytes);
  BackupEncoder encoder;
  BackupHead other{.link = {.id = "b", .from = "a"}, .time_ms = 1, .checkpoint = 0, .files = {}, .bytes = 0};
  ArchiveWriter writer(fs::path(folder.path()) / "archive");
  CHECK(error_of([&] { writer.write(encoder.head(other)); }) == ErrorCode::data_corruption_detected);
}

}  // namespace storage
