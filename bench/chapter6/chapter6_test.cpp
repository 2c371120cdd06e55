// These tests check that the benchmarks measure what their names say.
#include <catch2/catch.hpp>
#include <set>

#include "bench/chapter6/load.h"
#include "bench/chapter6/pairs.h"
#include "bench/chapter6/replay.h"

using namespace bench;
using namespace bench::chapter6;

namespace {

Workload made_up(const char* name) {
  return load(name, {.data = {}, .synthetic_bytes = 1 << 20});
}

}  // namespace

TEST_CASE("a replay keeps every content, whatever the profile and whenever it is restarted") {
  const Workload workload = made_up("wiki");
  for (const dedup::Profile profile : {dedup::Profile::thesis, dedup::Profile::balanced, dedup::Profile::archive}) {
    Replay replay(dedup::Options::of(profile));
    for (size_t i = 0; i < workload.records.size(); ++i) {
      if (i == 40) replay.restart();
      if (i == 80) replay.lose_index();
      replay.step(workload.records[i]);
    }
    for (size_t i = 0; i < workload.records.size(); ++i) {
      const auto content = replay.records().fetch(MemoryRecords::name(0, static_cast<int64_t>(i)));
      REQUIRE(content == workload.records[i].document);
    }
    REQUIRE(replay.content_bytes() == workload.bytes());
    REQUIRE(replay.ratio() > 1.2);
  }
}

TEST_CASE("reads ask for what has been inserted, and what is left to insert is not inserted twice") {
  const Workload workload = made_up("boards");
  Load load(workload, 100);
  std::set<uint32_t> there;
  for (uint32_t i = 0; i < 100; ++i) there.insert(i);
  size_t reads = 0;
  auto check = [&](const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      REQUIRE_FALSE(operation.records.empty());
      for (const uint32_t record : operation.records) {
        if (operation.insert)
          REQUIRE(there.insert(record).second);
        else
          REQUIRE(there.contains(record));
      }
      reads += !operation.insert;
    }
  };
  check(load.mixed(200, 0.5));
  check(load.inserts(70, 20));
  for (const Load::Follow follow : {Load::Follow::once, Load::Follow::thread, Load::Follow::views})
    check(load.inserts_with_reads(100, follow));
  REQUIRE(reads > 150);
  check(load.inserts(workload.records.size(), 100));
  REQUIRE(there.size() == workload.records.size());
  REQUIRE(load.inserts(1, 1).empty());
}

TEST_CASE("a record's predecessor is the one before it in its group") {
  const Workload workload = made_up("wiki");
  const auto before = predecessors(workload);
  size_t found = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] < 0) continue;
    ++found;
    const auto at = static_cast<size_t>(before[i]);
    REQUIRE(at < i);
    REQUIRE(workload.records[at].group == workload.records[i].group);
    for (size_t j = at + 1; j < i; ++j) REQUIRE(workload.records[j].group != workload.records[i].group);
  }
  REQUIRE(found > workload.records.size() / 2);
  const auto some = pairs(workload, 100, 1 << 20, 10);
  REQUIRE(some.size() == 10);
}
