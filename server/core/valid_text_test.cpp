#include "server/core/valid_text.h"

#include <catch2/catch.hpp>

#include "bson/builder.h"
#include "bson/validate.h"

namespace server {

TEST_CASE("bytes that are no UTF-8 are shown") {
  CHECK(valid_text("plain, é and 漢") == "plain, é and 漢");
  CHECK(valid_text("a\xff\xfe\xc0") == "a\\xff\\xfe\\xc0");
  CHECK(valid_text("\xc3") == "\\xc3");                    // it ends within a character
  CHECK(valid_text("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(valid_text("\xe9t\xc3\xa9") == "\\xe9t\xc3\xa9");
}

TEST_CASE("documents have valid names, strings and patterns afterwards") {
  bson::Builder out;
  out.append("\xff", "\xfe").append("number", 5).append("regex", bson::Regex{"\xc0", "i"});
  {
    auto object = out.object("object");
    object.append("text", "é\xff");
    auto array = object.array("array");
    array.append("\xfd");
  }
  const bson::Document made = with_valid_text(out.done());
  CHECK(bson::validate(made.bytes(), {.utf8 = true}).ok());
  CHECK(made["\\xff"].as_string() == "\\xfe");
  CHECK(made["number"].as_int32() == 5);
  CHECK(made["regex"].as_regex().pattern == "\\xc0");
  CHECK(made["object"].as_document()["text"].as_string() == "é\\xff");
  CHECK(made["object"].as_document()["array"].as_document()["0"].as_string() == "\\xfd");
}

}  // namespace server
