#include "bench/data/workload.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "bench/data/stored.h"
#include "bench/measure/scratch.h"
#include "bench/peers/deltas.h"
#include "bson/document.h"

using namespace bench;

TEST_CASE("made-up workloads have unique ids and are the same each time") {
  for (const char* name : workload_names) {
    const Workload once = load(name, {.data = {}, .synthetic_bytes = 1 << 20}),
                   again = load(name, {.data = {}, .synthetic_bytes = 1 << 20});
    REQUIRE_FALSE(once.real);
    REQUIRE(once.records.size() == again.records.size());
    std::set<std::pair<uint32_t, Bytes>> ids;
    for (size_t i = 0; i < once.records.size(); ++i) {
      const Record& record = once.records[i];
      REQUIRE(record.document == again.records[i].document);
      REQUIRE(ids.emplace(record.collection, Bytes(bson::DocumentView(record.document)["_id"].bytes())).second);
    }
  }
}

TEST_CASE("a sample has whole groups and no more bytes than wanted") {
  const Workload whole = load("wiki", {.data = {}, .synthetic_bytes = 4 << 20});
  const Workload some = whole.sample(1 << 20);
  REQUIRE(some.bytes() <= 1 << 20);
  REQUIRE(some.bytes() > 1 << 18);
  std::map<uint64_t, size_t> all, taken;
  for (const Record& record : whole.records) ++all[record.group];
  for (const Record& record : some.records) ++taken[record.group];
  for (const auto& [group, count] : taken) REQUIRE(count == all[group]);
  REQUIRE(whole.sample(whole.bytes()).records.size() == whole.records.size());
  for (const Record& record : whole.histories(20).records) REQUIRE(all[record.group] >= 20);
}

TEST_CASE("what a data directory takes is counted once everything is in it") {
  const Scratch folder;
  const Workload workload = load("wiki", {.data = {}, .synthetic_bytes = 1 << 20});
  Stored stored(folder.path(), {.cache_bytes = 64 << 20});
  stored.load(workload);
  stored.settle();
  const StoredSizes sizes = stored.sizes();
  REQUIRE(sizes.logical_bytes == workload.bytes());
  REQUIRE(sizes.dedup_bytes < workload.bytes());
  REQUIRE(sizes.file_bytes > 0);
  REQUIRE(sizes.file_ratio() > 1);
  stored.reopen();
  REQUIRE(stored.collections().size() == workload.collections.size());
}

TEST_CASE("the other delta coders make deltas") {
  Bytes source;
  for (int i = 0; i < 500; ++i) source += std::to_string(i * 7919) + " ";
  Bytes target = source;
  target.replace(1000, 10, "something else");
  for (const DeltaFunction encode : {xdelta3_delta, zstd_delta_1, zstd_delta_3}) {
    REQUIRE(encode(source, target).size() < 200);
    REQUIRE(encode("", target).size() > 200);
  }
}
