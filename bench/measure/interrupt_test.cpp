#include "bench/measure/interrupt.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "bench/measure/scratch.h"

using namespace bench;

TEST_CASE("a process that is interrupted leaves no folder behind") {
  const Scratch folder;
  REQUIRE(std::filesystem::exists(folder.path()));
  const pid_t child = fork();  // it has the folder registered, as its parent has
  if (child == 0) {
    clean_up_when_interrupted();
    kill(getpid(), SIGTERM);
    for (;;) pause();
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 128 + SIGTERM);
  REQUIRE_FALSE(std::filesystem::exists(folder.path()));
}
