#include "storage/engine/unapplied_rows.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <filesystem>

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
