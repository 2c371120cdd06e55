#include "server/core/write_claims.h"

#include <catch2/catch.hpp>

namespace server {

TEST_CASE("a claimed record is claimed until its holder is gone") {
  WriteClaims claims;
  CHECK_FALSE(claims.any());
  CHECK_FALSE(claims.claimed({1, 7}));
  {
    const auto held = claims.claim({{1, 7}, {1, 8}, {1, 7}});
    const auto others = claims.claim({{2, 7}});
    CHECK(claims.any());
    CHECK(claims.claimed({1, 7}));
    CHECK(claims.claimed({2, 7}));
    CHECK_FALSE(claims.claimed({2, 8}));
  }
  for (const WriteClaim& one : {WriteClaim{1, 7}, WriteClaim{1, 8}, WriteClaim{2, 7}}) CHECK_FALSE(claims.claimed(one));
}

}  // namespace server
