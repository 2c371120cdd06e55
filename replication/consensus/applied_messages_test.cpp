#include "replication/consensus/applied_messages.h"

#include <catch2/catch.hpp>

using namespace replication::consensus;

TEST_CASE("how far a member has applied is asked and told") {
  CHECK(decode_applied(applied_question())->question);
  for (const Index index : {Index{0}, Index{1}, Index{300}, ~Index{0}}) {
    const auto told = decode_applied(applied_answer(index));
    REQUIRE(told);
    CHECK_FALSE(told->question);
    CHECK(told->index == index);
  }
}

TEST_CASE("damaged words about what is applied are refused, and the library's messages are none") {
  CHECK_FALSE(is_about_applied(""));
  CHECK_FALSE(is_about_applied(Bytes{8, 1}));
  for (const Bytes& bad : {Bytes{0}, Bytes{0, 0, 0}, Bytes{0, 1}, Bytes{0, 2, 5}, Bytes{0, 1, char(0x80)}, applied_answer(7) + "x"}) CHECK_FALSE(decode_applied(bad));
}
