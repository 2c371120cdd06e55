#include "storage/engine/unapplied_rows.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "storage/testing/temporary_store.h"

using namespace storage;

namespace {

// While this lives, no file can be opened.
class NoDescriptors {
 public:
  NoDescriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit none = before_;
    none.rlim_cur = 0;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

Bytes content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("unapplied rows are forgotten only if the directory can be synced") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/" + unapplied_file;
  UnappliedRows rows(directory.path(), nullptr);
  rows.change("things", "key", "value");
  rows.save();
  REQUIRE(std::filesystem::exists(path));
  {
    const NoDescriptors none;
    CHECK_THROWS_AS(rows.forget("things"), base::OperationError);
  }
  CHECK(std::filesystem::exists(path));
  CHECK(rows.any());
  CHECK(rows.of("things").size() == 1);
  rows.forget("things");
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK_FALSE(rows.any());
}

TEST_CASE("a file of unapplied rows that can't be read is not taken for none") {
  TemporaryDirectory directory;
  {
    UnappliedRows rows(directory.path(), nullptr);
    rows.change("things", "key", "value");
    rows.save();
  }
  {
    const NoDescriptors none;
    CHECK_THROWS_AS(UnappliedRows(directory.path(), nullptr), base::OperationError);
  }
  CHECK(UnappliedRows(directory.path(), nullptr).of("things").size() == 1);
  const std::string path = directory.path() + "/" + unapplied_file;
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  CHECK_THROWS_AS(UnappliedRows(directory.path(), nullptr), base::OperationError);
}

TEST_CASE("a damaged file of unapplied rows stays as it is") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/" + unapplied_file;
  for (int number = 1; number <= 2; ++number) {
    const Bytes damaged = "damaged " + std::to_string(number);
    std::ofstream(path, std::ios::binary) << damaged;
    UnappliedRows rows(directory.path(), nullptr);
    CHECK_FALSE(rows.any());
    rows.save();
    rows.forget("things");
    rows.keep({});
    CHECK(content(path) == damaged);
    rows.change("things", "key", "value");
    rows.save();
    CHECK(content(path + ".damaged-" + std::to_string(number)) == damaged);
    CHECK(UnappliedRows(directory.path(), nullptr).of("things").size() == 1);
    rows.forget("things");
    CHECK_FALSE(std::filesystem::exists(path));
  }
  CHECK(content(path + ".damaged-1") == "damaged 1");
}

TEST_CASE("unapplied rows block the places where they belong") {
  TemporaryDirectory directory;
  UnappliedRows rows(directory.path(), nullptr);
  rows.change("things", "d", "value");
  rows.change("things", "h", std::nullopt);
  const auto blocks = [&](std::optional<BytesView> from, std::optional<BytesView> to) { return rows.blocks("things", from, to); };
  CHECK(rows.blocks("things", "d"));
  CHECK(rows.blocks("things", "h"));
  CHECK_FALSE(rows.blocks("things", "e"));
  CHECK_FALSE(rows.blocks("others", "d"));
  CHECK(blocks("c", "d"));
  CHECK(blocks("d", "e"));
  CHECK(blocks("e", std::nullopt));
  CHECK(blocks(std::nullopt, "d"));
  CHECK(blocks(std::nullopt, std::nullopt));
  CHECK_FALSE(blocks("e", "g"));
  CHECK_FALSE(blocks("i", std::nullopt));
  CHECK_FALSE(blocks(std::nullopt, "c"));
  {
    const UnappliedRows::Unblocked unblocked(rows, "things");
    CHECK_FALSE(blocks(std::nullopt, std::nullopt));
  }
  CHECK(rows.blocks("things", "d"));
}
