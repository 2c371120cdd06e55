#include "bson/md5.h"

#include <catch2/catch.hpp>

#include "base/random.h"

namespace {

std::string md5_of(base::BytesView bytes) {
  bson::Md5 md5;
  md5.append(bytes);
  return md5.hex();
}

}  // namespace

TEST_CASE("MD5 digests what RFC 1321 lists as it lists it") {
  CHECK(md5_of("") == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(md5_of("a") == "0cc175b9c0f1b6a831c399e269772661");
  CHECK(md5_of("abc") == "900150983cd24fb0d6963f7d28e17f72");
  CHECK(md5_of("message digest") == "f96b697d7cb7938d525a2f31aaf161d0");
  CHECK(md5_of("abcdefghijklmnopqrstuvwxyz") == "c3fcd3d76192e4007dfb496cca67e13b");
  CHECK(md5_of("12345678901234567890123456789012345678901234567890123456789012345678901234567890") ==
        "57edf4a22be3c955ac49da2e2107b67a");
}

TEST_CASE("MD5 in pieces, and taken up again from its state, is MD5 of the whole") {
  base::Random random(7);
  for (size_t length = 0; length < 400; ++length) {
    base::Bytes bytes;
    while (bytes.size() < length) bytes.push_back(static_cast<char>(random.below(256)));
    const size_t cut = random.below(length + 1);
    bson::Md5 first;
    first.append(base::BytesView(bytes).substr(0, cut));
    auto second = bson::Md5::from_state(first.state());
    REQUIRE(second);
    second->append(base::BytesView(bytes).substr(cut));
    REQUIRE(second->hex() == md5_of(bytes));
  }
}

TEST_CASE("what is no state of MD5 is refused") {
  CHECK_FALSE(bson::Md5::from_state(""));
  CHECK_FALSE(bson::Md5::from_state(base::Bytes(87, 'x')));
  CHECK_FALSE(bson::Md5::from_state(base::Bytes(89, 'x')));
  CHECK_FALSE(bson::Md5::from_state(base::Bytes(88, 'y')));  // not whole bytes
}
