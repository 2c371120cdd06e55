#include "server/wire/crc32c.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

namespace server::wire {

TEST_CASE("CRC-32C gives the values of RFC 3720") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xe3069283u);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aau);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43u);
}

TEST_CASE("the machine's instruction gives what the table gives") {
  CHECK(rc::check([](const std::string& before, const std::string& bytes) {
    RC_ASSERT(crc32c(bytes, crc32c(before)) == crc32c_by_table(bytes, crc32c_by_table(before)));
  }));
}

TEST_CASE("a checksum in pieces is the checksum of the whole") {
  CHECK(rc::check("crc(a + b) goes on from crc(a)",
                  [](const std::string& a, const std::string& b) { RC_ASSERT(crc32c(b, crc32c(a)) == crc32c(a + b)); }));
}

}  // namespace server::wire
