#include "server/assembly/restart.h"

#include <catch2/catch.hpp>

namespace server {

TEST_CASE("so many restarts within the window, and no more") {
  RestartHistory history("");
  for (int i = 0; i < restarts_max; ++i) CHECK(history.note(1000 + i * 10));
  CHECK(history.text() == "1000,1010,1020,1030,1040");
  CHECK_FALSE(history.note(1059));
  CHECK(history.text() == "1000,1010,1020,1030,1040");
  CHECK(history.note(1060));  // the first was a window ago
  CHECK_FALSE(history.note(1061));
}

TEST_CASE("a history of restarts is handed on as text") {
  RestartHistory history("7,9");
  CHECK(history.text() == "7,9");
  CHECK(history.note(10));
  CHECK(RestartHistory(history.text()).text() == "7,9,10");
  for (const char* damaged : {"x", "7,x", "7;9", ",7", "7,,9", "99999999999999999999"})
    CHECK(RestartHistory(damaged).text().empty());
}

TEST_CASE("times from before the machine started anew don't count") {
  RestartHistory history("90001,90002,90003,90004,90005");
  CHECK(history.note(12));
  CHECK(history.text() == "12");
}

}  // namespace server
