#include "server/core/collection_usage.h"

#include <catch2/catch.hpp>
#include <map>
#include <thread>

namespace server {
namespace {

using Kind = CollectionUsage::Kind;
using Latency = CollectionUsage::Latency;

CollectionUsage::Use query(int64_t us) {
  return {.kind = Kind::query, .latency = Latency::read, .us = us};
}

const CollectionUsage::Timing& queries(const CollectionUsage::Figures& figures) {
  return figures.by_kind[static_cast<size_t>(Kind::query)];
}

}  // namespace

TEST_CASE("collections are counted by name, each apart") {
  CollectionUsage usage;
  usage.record("shop", "orders", 1, query(5));
  usage.record("shop", "orders", 1, query(7));
  usage.record("shop", "orders.old", 2, query(1));
  usage.record("shop@dev", "orders", 1, query(2));
  CHECK(queries(*usage.of("shop", "orders", 1)).us == 12);
  CHECK(queries(*usage.of("shop", "orders", 1)).count == 2);
  CHECK(queries(*usage.of("shop", "orders.old", 2)).count == 1);
  CHECK(queries(*usage.of("shop@dev", "orders", 1)).us == 2);
  CHECK(!usage.of("shop", "none", 3));
}

TEST_CASE("another collection of the same name begins at zero") {
  CollectionUsage usage;
  usage.record("shop", "orders", 1, query(5));
  CHECK(!usage.of("shop", "orders", 2));
  usage.record("shop", "orders", 2, query(3));
  CHECK(queries(*usage.of("shop", "orders", 2)).us == 3);
  CHECK(usage.all([](std::string_view) { return 1; }).empty());
  CHECK(usage.all([](std::string_view) { return 2; }).size() == 1);
}

TEST_CASE("names that are gone are forgotten before they are many") {
  CollectionUsage usage;
  bool due = false;
  uint32_t made = 0;
  while (!due && made < 1'000'000) {
    ++made;
    due = usage.record("shop", "temporary" + std::to_string(made), made, query(1));
  }
  CHECK(made < 10'000);
  usage.forget([&](std::string_view ns) -> uint32_t { return ns == "shop.temporary1" ? 1 : 0; });
  CHECK(usage.of("shop", "temporary1", 1));
  CHECK(!usage.of("shop", "temporary2", 2));
  CHECK(!usage.record("shop", "temporary1", 1, query(1)));
}

TEST_CASE("nothing is lost when many threads count") {
  CollectionUsage usage;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) usage.record("shop", i % 2 == 0 ? "a" : "b", 1, query(1));
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(queries(*usage.of("shop", "a", 1)).count == 20'000);
  CHECK(usage.of("shop", "b", 1)->by_latency[static_cast<size_t>(Latency::read)].ops() == 20'000);
}

}  // namespace server
