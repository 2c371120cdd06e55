#include "server/assembly/process.h"

#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
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

TEST_CASE("a process whose operations don't end has so long, and then ends") {
  const auto ended = [](const std::function<void()>& run) {
    const pid_t child = ::fork();
    if (child == 0) {
      run();
      ::_exit(1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
  };
  CHECK(ended([] {
          const LastResort resort(std::chrono::milliseconds(50), 7, "");
          for (;;) ::pause();
        }) == 7);
  const std::string path = scratch_folder() + "/pid of the last resort";
  CHECK(ended([&path] {
          const PidFile file(path);
          const LastResort resort(std::chrono::milliseconds(50), 7, path);
          for (;;) ::pause();
        }) == 7);
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(ended([] {
          { const LastResort resort(std::chrono::hours(1), 7, ""); }
          ::_exit(8);
        }) == 8);
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
