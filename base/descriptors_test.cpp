#include "base/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <vector>

namespace base {

TEST_CASE("descriptors are short before they are gone") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{200, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  std::vector<int> opened;
  CHECK_FALSE(descriptors_are_short());
  while (!descriptors_are_short() && opened.size() < 200) opened.push_back(::open("/dev/null", O_RDONLY));
  const bool left = !opened.empty() && opened.back() < 150;
  for (const int descriptor : opened) ::close(descriptor);
  CHECK(left);
  CHECK_FALSE(descriptors_are_short());
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace base
