#include "server/assembly/process.h"

#include <unistd.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"

namespace server {
namespace {

std::string scratch_folder() {
  const auto path = std::filesystem::temp_directory_path() / ("process_test." + std::to_string(::getpid()));
  std::filesystem::create_directories(path);
  return path.string();
}

std::string contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a data directory has one holder, and its process id is in the lock file") {
  const std::string folder = scratch_folder();
  {
    DataDirectoryLock lock(folder);
    CHECK(contents(folder + "/mongod.lock") == std::to_string(::getpid()) + "\n");
    CHECK_THROWS_WITH(DataDirectoryLock(folder), Catch::Contains("DBPathInUse") && Catch::Contains("already running"));
  }
  CHECK(contents(folder + "/mongod.lock").empty());
  DataDirectoryLock again(folder);
}

TEST_CASE("a data directory that isn't there is an error that says so") {
  CHECK_THROWS_WITH(DataDirectoryLock("/nonexistent-folder"), Catch::Contains("Data directory /nonexistent-folder not found"));
}

TEST_CASE("the pid file is there as long as the server is") {
  const std::string path = scratch_folder() + "/pid";
  {
    PidFile file(path);
    CHECK(contents(path) == std::to_string(::getpid()) + "\n");
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK_THROWS_AS(PidFile("/nonexistent-folder/pid"), base::OperationError);
}

}  // namespace server
