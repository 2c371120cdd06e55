#include "versions/branch/pending_rows.h"

#include <catch2/catch.hpp>

#include "base/testing.h"

using namespace versions;
using base::testing::error_of;

TEST_CASE("pending: what is no row of the table is refused as damaged") {
  constexpr auto corrupt = base::ErrorCode::data_corruption_detected;
  const Bytes key = pending_key(BranchId{3}, 300);
  CHECK(branch_of_key(key) == BranchId{3});
  CHECK(record_of_key(key) == 300);
  CHECK(kind_of_row(purged_row({})) == static_cast<char>(PurgedKind::keyless));
  const Bytes short_key = key.substr(0, 7), long_key = key + "x", far = Bytes(1, '\1') + key.substr(1);  // a branch beyond 2^32
  for (const Bytes& other : {Bytes(), short_key, long_key, far}) {
    CHECK(error_of([&] { branch_of_key(other); }) == corrupt);
    CHECK(error_of([&] { record_of_key(other); }) == corrupt);
    CHECK_FALSE(parse_pending_row(other, "\1"));
  }
  CHECK(error_of([] { kind_of_row({}); }) == corrupt);
  CHECK_FALSE(parse_pending_row(key, {}));
}
