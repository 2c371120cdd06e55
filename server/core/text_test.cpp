#include "server/core/text.h"

#include <catch2/catch.hpp>

using namespace server::query;

TEST_CASE("a character is taken whole from a text") {
  const std::string_view text = "aé☃𝄞";
  CHECK(character_at(text, 0) == "a");
  CHECK(character_at(text, 1) == "é");
  CHECK(character_at(text, 3) == "☃");
  CHECK(character_at(text, 6) == "𝄞");
}

TEST_CASE("the front of a text ends with a whole character") {
  const std::string_view text = "aé☃";
  CHECK(front_of(text, 0).empty());
  CHECK(front_of(text, 1) == "a");
  CHECK(front_of(text, 2) == "a");
  CHECK(front_of(text, 3) == "aé");
  CHECK(front_of(text, 5) == "aé");
  CHECK(front_of(text, 6) == text);
  CHECK(front_of(text, 100) == text);
}
