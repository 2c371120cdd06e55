#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "base/hash.h"
#include "base/random.h"
#include "base/testing.h"
#include "storage/testing/test_support.h"
#include "storage/upkeep/replace_directory.h"
#include "storage/upkeep/validate.h"

using namespace storage;
using storage::test::document;

namespace fs = std::filesystem;

namespace {

using Contents = std::map<std::string, std::string>;

Contents contents(const fs::path& directory) {
  Contents all;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    all[fs::relative(entry.path(), directory)] =
        std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  return all;
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

const Contents old_data = {{"palimpsest.json", "old"},
                           {"records-1.wt", "old"},
                           {"records-2.wt", "older"},
                           {"WiredTiger.turtle", "old"},
                           {"pages-1.dict.new", "draft"},
                           {"journal/WiredTigerLog.1", "old"},
                           {"journal/WiredTigerPreplog.1", "old"}};
const Contents own = {
    {"mongod.lock", "12"}, {"server.log", "lines"}, {"rollback/shop.a.bson", "kept"}, {"member.yaml", "port: 1"}};
const Contents new_data = {{"palimpsest.json", "new"},
                           {"records-1.wt", "new"},
                           {"records-3.wt", "newer"},
                           {"WiredTiger", "new"},
                           {"journal/WiredTigerLog.7", "new"}};

Contents with(Contents a, const Contents& b) {
  a.insert(b.begin(), b.end());
  return a;
}

CopyMarker marker() {
  CopyMarker marker;
  for (const auto& [name, text] : new_data) marker.files.push_back({name, text.size()});
  marker.carried = std::string("term\0vote", 9);
  return marker;
}

void prepare(const std::string& path, bool complete = true) {
  for (const auto& [name, text] : with(old_data, own)) write(fs::path(path) / name, text);
  begin_copy(path);
  for (const auto& [name, text] : new_data) write(fs::path(path) / sync_directory / name, text);
  if (complete) complete_copy(path, marker());
}

// This function ends the process at the given step. It returns true when the placing finished before that step.
bool place_until(const std::string& path, int steps) {
  const pid_t child = ::fork();
  if (child == 0) {
    place_copy(path, [&] {
      if (steps-- == 0) std::_Exit(1);
    });
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0;
}

void require_new(const std::string& path) {
  REQUIRE(copied(path) == marker().carried);
  Contents expected = with(new_data, own);
  Contents found = contents(path);
  REQUIRE(found.erase("copied") == 1);
  REQUIRE(found == expected);
  REQUIRE_FALSE(fs::exists(path + "/_sync"));
}

}  // namespace

TEST_CASE("a complete copy takes the directory's place, and what is the member's own stays") {
  TemporaryDirectory directory;
  prepare(directory.path());
  CHECK(place_copy(directory.path()) == Replaced::replaced);
  require_new(directory.path());
  CHECK(place_copy(directory.path()) == Replaced::nothing);
  forget_copied(directory.path());
  CHECK_FALSE(copied(directory.path()));
  CHECK(contents(directory.path()) == with(new_data, own));
}

TEST_CASE("a copy lost at any step of taking the place gets there at the next start") {
  bool ended = false;
  for (int steps = 0; !ended; ++steps) {
    REQUIRE(steps < 100);
    INFO("lost before change " << steps);
    TemporaryDirectory directory;
    prepare(directory.path());
    ended = place_until(directory.path(), steps);
    place_copy(directory.path());
    require_new(directory.path());
    if (ended) CHECK(steps > 15);
  }
}

TEST_CASE("lost again and again at random steps, it gets there too") {
  base::Random random(base::testing::seed());
  for (int round = 0; round < 20; ++round) {
    TemporaryDirectory directory;
    prepare(directory.path());
    while (!place_until(directory.path(), static_cast<int>(random.below(6)))) {
    }
    place_copy(directory.path());
    require_new(directory.path());
  }
}

TEST_CASE("a copy that was not finished goes, whatever step its removal is lost at") {
  bool ended = false;
  for (int steps = 0; !ended; ++steps) {
    TemporaryDirectory directory;
    prepare(directory.path(), false);
    ended = place_until(directory.path(), steps);
    place_copy(directory.path());
    CHECK(contents(directory.path()) == with(old_data, own));
    CHECK_FALSE(fs::exists(directory.path() + "/_sync"));
    CHECK_FALSE(copied(directory.path()));
  }
}

TEST_CASE("a copy that isn't what its marker says goes, and the directory stays") {
  const auto damages = std::vector<std::function<void(const fs::path&)>>{
      [](const fs::path& copy) { write(copy / "records-1.wt", "much longer than it was"); },
      [](const fs::path& copy) { fs::remove(copy / "journal/WiredTigerLog.7"); },
      [](const fs::path& copy) { write(copy / "complete", ""); },
      [](const fs::path& copy) { fs::resize_file(copy / "complete", fs::file_size(copy / "complete") - 1); },
      [](const fs::path& copy) {
        std::fstream file(copy / "complete", std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(20);
        file.put('\x55');
      }};
  for (const auto& damage : damages) {
    TemporaryDirectory directory;
    prepare(directory.path());
    damage(directory.path() + "/_sync");
    CHECK(place_copy(directory.path()) == Replaced::removed_incomplete);
    CHECK(contents(directory.path()) == with(old_data, own));
  }
}

TEST_CASE("a marker of another version is refused, and nothing is removed") {
  const TemporaryDirectory directory;
  prepare(directory.path());
  const fs::path file = fs::path(directory.path()) / sync_directory / "complete";
  std::ifstream in(file, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  bytes.resize(bytes.size() - sizeof(uint64_t));
  bytes[4] = 2;
  base::append_le(bytes, base::hash64(bytes));
  write(file, bytes);
  const auto before = contents(directory.path());
  try {
    place_copy(directory.path());
    FAIL("it is taken");
  } catch (const base::OperationError& error) {
    CHECK(error.code() == base::ErrorCode::unsupported_format);
  }
  CHECK(contents(directory.path()) == before);
}

TEST_CASE("a marker is refused where files are missing or have names of others") {
  TemporaryDirectory directory;
  prepare(directory.path(), false);
  CopyMarker missing = marker();
  missing.files.push_back({"records-9.wt", 3});
  CHECK_THROWS_AS(complete_copy(directory.path(), missing), base::OperationError);
  CHECK_FALSE(fs::exists(directory.path() + "/_sync/complete"));
  write(directory.path() + "/copied", "nonsense");
  CHECK_THROWS_AS(copied(directory.path()), base::OperationError);
}

TEST_CASE("a copy opens whatever moment of its first start the process is lost at") {
  TemporaryDirectory source, member;
  {
    Store store(test_options(source.path()));
    const auto collection = store.catalog().create("shop.a", {});
    for (int64_t id = 0; id < 200; ++id) {
      in_transaction(store,
                     [&](Transaction& transaction) { collection->insert(transaction, document(id, std::string(500, 'x'))); });
      if (id == 100) store.engine().checkpoint();
    }
    const Backup backup(store);
    begin_copy(member.path());
    CopyMarker marker;
    for (const BackupFile& file : backup.files()) {
      write(fs::path(member.path()) / sync_directory / file.name, backup.read(file.name, 0, file.bytes));
      marker.files.push_back(file);
    }
    complete_copy(member.path(), marker);
  }
  CHECK(place_copy(member.path()) == Replaced::replaced);
  base::Random random(base::testing::seed());
  for (int round = 0; round < 15; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      Store store(test_options(member.path()));
      ::pause();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random.below(60)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  Store store(test_options(member.path()));
  const auto collection = store.catalog().open("shop.a");
  REQUIRE(collection);
  CHECK(collection->record_count() == 200);
  CHECK(validate_collection(store, collection, false).valid);
}
