#include "base/utf8.h"

#include <catch2/catch.hpp>

namespace base {
namespace {

TEST_CASE("UTF-8 is well-formed or it is not") {
  for (const char* good : {"", "a", "é", "日本", "😀", "\xf4\x8f\xbf\xbf", "abcdefgh\xc3\xa9ijklmnop"}) CHECK(is_utf8(good));
  for (const char* bad : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                          "\xe2\x82", "abcdefgh\xff", "\xc3", "\xf0\x80\x80\x80", "\xf8\x88\x80\x80\x80"}) {
    CHECK_FALSE(is_utf8(bad));
  }
}

TEST_CASE("a character's bytes are counted, whatever follows") {
  CHECK(utf8_bytes("") == 0);
  CHECK(utf8_bytes(std::string_view("\0b", 2)) == 1);
  CHECK(utf8_bytes("a\xff") == 1);
  CHECK(utf8_bytes("é\xff") == 2);
  CHECK(utf8_bytes("日本") == 3);
  CHECK(utf8_bytes("😀😀") == 4);
  for (const char* bad : {"\x80", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xe2\x82g"}) {
    CHECK(utf8_bytes(bad) == 0);
  }
}

}  // namespace
}  // namespace base
