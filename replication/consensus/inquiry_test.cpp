#include "replication/consensus/inquiry.h"

#include <catch2/catch.hpp>

using namespace replication::consensus;

TEST_CASE("how far a member has applied, and whether it is electable, comes out as it went in") {
  CHECK(decode_inquiry(inquiry_question())->question);
  for (const Index index : {Index{0}, Index{1}, Index{300}, ~Index{0}}) {
    for (const bool electable : {false, true}) {
      const auto answer = decode_inquiry(inquiry_answer({index, electable}));
      REQUIRE(answer);
      CHECK_FALSE(answer->question);
      CHECK(answer->answer.applied == index);
      CHECK(answer->answer.electable == electable);
    }
  }
}

TEST_CASE("damaged inquiries are refused, and the library's messages are none") {
  CHECK_FALSE(is_inquiry(""));
  CHECK_FALSE(is_inquiry(Bytes{8, 1}));
  for (const Bytes& bad : {Bytes{0}, Bytes{0, 0, 0}, Bytes{0, 1}, Bytes{0, 2}, Bytes{0, 3, 5}, Bytes{0, 1, char(0x80)},
                           inquiry_answer({7, true}) + "x"}) {
    CHECK_FALSE(decode_inquiry(bad));
  }
}
