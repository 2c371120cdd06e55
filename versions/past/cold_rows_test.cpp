// Forced copies end every overwrite cycle in time, and change nothing of what a scan says.
#include "versions/past/cold_rows.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/random.h"
#include "base/testing.h"
#include "versions/past/page_table.h"

using namespace versions::past;

TEST_CASE("with forced copies no overwrite cycle is longer than asked for, and every snapshot shows what it showed") {
  base::Random random(base::testing::seed() + 14);
  constexpr uint64_t rows = 100, cold = 3, snapshots = 20'000;
  for (const uint64_t age : {uint64_t{1}, uint64_t{700}, uint64_t{3'000}}) {
    CAPTURE(age);
    ColdRows last(rows, age);
    std::vector<Stamp> contents(rows + 1, 1);
    std::vector<Mapping> plain, forced;
    std::vector<size_t> plain_start, forced_start;  // by snapshot
    for (SnapshotId snapshot = 1; snapshot <= snapshots; ++snapshot) {
      plain_start.push_back(plain.size());
      forced_start.push_back(forced.size());
      // The cold rows are never written.
      const auto row = static_cast<RecordId>(cold + 1 + random.below(rows - cold));
      const Mapping mapping{row, contents[static_cast<size_t>(row)]};
      plain.push_back(mapping);
      forced.push_back(mapping);
      last.retained(row, snapshot);
      contents[static_cast<size_t>(row)] = snapshot + 1;
      if (!last.due(snapshot)) continue;
      const size_t copies = last.force(snapshot, [&](RecordId copied) {
        forced.push_back({copied, contents[static_cast<size_t>(copied)]});
      });
      CHECK(copies >= cold);
      CHECK_FALSE(last.due(snapshot + age - 1));
    }
    for (int i = 0; i < 50; ++i) {
      const size_t from = random.below(snapshots);
      PageTable without, with;
      without.take(std::span(plain).subspan(plain_start[from]));
      with.take(std::span(forced).subspan(forced_start[from]));
      for (RecordId row = 1; row <= static_cast<RecordId>(rows); ++row) {
        // A row that no mapping names is as it is now.
        const Stamp now = contents[static_cast<size_t>(row)];
        CHECK(with.find(row).value_or(now) == without.find(row).value_or(now));
      }
      if (from + 2 * age >= snapshots) continue;
      PageTable cycle;
      cycle.take(std::span(forced).subspan(forced_start[from], forced_start[from + 2 * age] - forced_start[from]));
      CHECK(cycle.size() == rows);
    }
  }
}
