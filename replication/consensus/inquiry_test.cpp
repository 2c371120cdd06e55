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

TEST_CASE("a member's word that it would lead stands for two seconds, and it is asked again each 100 ms") {
  Answers answers;
  auto stands = answers.stands(7, 0);
  CHECK_FALSE(stands.yes);
  CHECK(stands.ask);
  CHECK_FALSE(answers.stands(7, 99'999).ask);
  CHECK(answers.stands(7, 100'000).ask);
  answers.note(7, {5, true}, 150'000);
  CHECK(answers.applied_by(7) == 5);
  CHECK(answers.applied_by(8) == 0);
  CHECK(answers.stands(7, 2'149'999).yes);
  CHECK_FALSE(answers.stands(7, 2'150'000).yes);
  answers.note(7, {6, false}, 2'200'000);
  CHECK_FALSE(answers.stands(7, 2'200'000).yes);
}
