#include "dedup/metadata_log.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "dedup/metadata_page.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

Metadata some_entry(base::Random& random, int64_t record) {
  Metadata entry;
  entry.id = {static_cast<uint32_t>(1 + random.below(2)), record, random() >> random.below(60)};
  entry.placement = {record - static_cast<int64_t>(random.below(50)), static_cast<uint32_t>(random.below(100))};
  for (uint64_t features = random.below(17); features > 0; --features) entry.features.add(static_cast<uint32_t>(random()));
  entry.has_lineage = !entry.features.empty() && random.below(2) == 0;
  if (random.below(4) == 0) entry.demoted_below = static_cast<uint8_t>(random.below(5));
  if (random.below(4) == 0) entry.delta_bytes = static_cast<uint32_t>(random());
  if (random.below(3) == 0) entry.placement = {record, 0};
  for (uint64_t bases = random.below(3); bases > 0; --bases)
    entry.hop_bases.push_back({entry.id.collection, record - static_cast<int64_t>(random.below(20)), random()});
  return entry;
}

template <class A>
bool same(const A& a, const Metadata& b) {
  return a.id == b.id && a.placement == b.placement && a.has_lineage == b.has_lineage && a.demoted_below == b.demoted_below &&
         a.delta_bytes == b.delta_bytes &&
         std::equal(a.features.begin(), a.features.end(), b.features.begin(), b.features.end()) &&
         std::equal(a.hop_bases.begin(), a.hop_bases.end(), b.hop_bases.begin(), b.hop_bases.end());
}

Metadata whole(const MetadataLog::Entry& entry) {
  Metadata copy{entry.id,
                entry.placement,
                {},
                entry.has_lineage,
                entry.demoted_below,
                entry.delta_bytes,
                {entry.hop_bases.begin(), entry.hop_bases.end()}};
  for (const uint32_t feature : entry.features) copy.features.add(feature);
  return copy;
}

std::map<ContentId, Metadata> live(MetadataLog& log, MetadataLog::Order order = MetadataLog::Order::oldest_first) {
  std::map<ContentId, Metadata> entries;
  log.for_each_live(order, [&](MetadataPointer, const MetadataLog::Entry& entry) { entries[entry.id] = whole(entry); });
  return entries;
}

}  // namespace

TEST_CASE("a page gives back what was written") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    MetadataSlots slots;
    for (int i = 0; i < 50; ++i) {
      slots.emplace_back();
      if (random.below(4)) slots.back() = some_entry(random, i * 3);
    }
    const auto read = read_metadata_page(write_metadata_page(slots));
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->size() == slots.size());
    for (size_t i = 0; i < slots.size(); ++i) {
      RC_ASSERT((*read)[i].has_value() == slots[i].has_value());
      if ((*read)[i]) RC_ASSERT(same(*(*read)[i], *slots[i]));
    }
  }));
}

TEST_CASE("a damaged page is refused, and its entries are forgotten") {
  base::Random random(1);
  MemoryPages pages;
  {
    MetadataLog log(pages, 1 << 20);
    log.append(some_entry(random, 1));
    log.flush();
  }
  REQUIRE(pages.kept.size() == 1);
  pages.kept.begin()->second.back() ^= 1;
  MetadataLog log(pages, 1 << 20);
  CHECK(log.live() == 0);
  CHECK(pages.kept.empty());
  CHECK(rc::check("any bytes", [](const std::string& bytes) {
    Bytes page(4, '\0');
    page += bytes;
    base::store_le(page.data(), base::checksum32(bytes));
    read_metadata_page(page);
    read_metadata_page(bytes);
  }));
}

TEST_CASE("the log is what a map would be, across a small cache, moves and restarts") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    MemoryPages pages;
    auto log = std::make_unique<MetadataLog>(pages, 200'000);
    std::map<ContentId, Metadata> model;
    std::map<ContentId, MetadataPointer> pointers;
    const auto follow = [&](const std::vector<MetadataLog::Moved>& moves) {
      for (const auto& moved : moves)
        for (auto& [id, pointer] : pointers)
          if (pointer == moved.from) pointer = moved.to;
    };
    int64_t record = 0;
    for (int step = 0; step < 6000; ++step) {
      if (random.below(4) > 0 || model.empty()) {
        const Metadata entry = some_entry(random, ++record);
        pointers[entry.id] = log->append(entry);
        model[entry.id] = entry;
      } else {
        // It is mostly the newest, as in real life.
        auto victim = std::prev(model.end());
        for (uint64_t back = random.below(30); back > 0 && victim != model.begin(); --back) --victim;
        const MetadataPointer pointer = pointers.at(victim->first);
        RC_ASSERT(log->find(pointer).has_value());
        RC_ASSERT(same(*log->find(pointer), victim->second));
        RC_ASSERT(log->find_cached(victim->first) == pointer);
        switch (random.below(4)) {
          case 0:
            log->set_delta_bytes(pointer, 5);
            RC_ASSERT(log->find(pointer)->delta_bytes == 5u);
            victim->second.delta_bytes = 5;
            RC_ASSERT(!log->find(pointer)->superseded);
            continue;
          case 1: {
            const auto kept = static_cast<uint32_t>(1 + random.below(4));
            log->thin(pointer, kept);
            Features features;
            for (uint32_t i = 0; i < std::min(kept, victim->second.features.size()); ++i)
              features.add(victim->second.features[i]);
            victim->second.features = features;
            continue;
          }
          case 2: log->supersede(pointer, 5); break;
          default:
            log->drop(pointer);
            RC_ASSERT(!log->find(pointer));
            RC_ASSERT(!log->find_cached(victim->first));
        }
        pointers.erase(victim->first);
        model.erase(victim);
      }
      if (random.below(1500) == 0) follow(log->flush());
      if (random.below(2500) == 0) {
        follow(log->flush());
        log = std::make_unique<MetadataLog>(pages, 200'000);
      }
      RC_ASSERT(log->live() == model.size());
    }
    RC_ASSERT(log->memory_bytes() <= 1'000'000u);
    follow(log->flush());
    const auto entries = live(*log);
    RC_ASSERT(entries.size() == model.size());
    RC_ASSERT(live(*log, MetadataLog::Order::newest_first).size() == model.size());
    size_t walked = 0;
    for (auto next = log->next(0); next; next = log->next(*next)) walked += !log->find(*next)->superseded;
    RC_ASSERT(walked == model.size());
    for (const auto& [id, entry] : model) RC_ASSERT(same(entries.at(id), entry));
    for (const auto& [id, pointer] : pointers) RC_ASSERT(log->find(pointer)->id == id);
    log->drop_collection(1);
    for (const auto& [id, entry] : live(*log)) RC_ASSERT(id.collection == 2u);
    log->clear();
    RC_ASSERT(pages.kept.empty());
    RC_ASSERT(log->live() == 0u);
  }));
}

TEST_CASE("a page whose entries are all superseded leaves the disk") {
  base::Random random(3);
  MemoryPages pages;
  MetadataLog log(pages, 8 << 20);
  std::vector<MetadataPointer> pointers;
  for (int64_t i = 0; i < 10'000; ++i) {
    pointers.push_back(log.append(some_entry(random, i)));
    if (i > 0) log.supersede(pointers[static_cast<size_t>(i) - 1], 9);
  }
  log.flush();
  CHECK(log.live() == 1);
  CHECK(pages.kept.size() <= 2);
}

TEST_CASE("what nothing resembles yet costs few bytes on disk") {
  base::Random random(4);
  MemoryPages pages;
  MetadataLog log(pages, 8 << 20);
  for (int64_t record = 1; record <= 10'000; ++record) {
    Metadata entry;
    entry.id = {1, record, uint64_t{1'600'000'000 + static_cast<uint64_t>(record) / 300} << 32 | record % 300};
    entry.placement = {record, 0};
    entry.features.add(static_cast<uint32_t>(random()));
    entry.features.add(static_cast<uint32_t>(random()));
    log.append(entry);
  }
  log.flush();
  size_t bytes = 0;
  for (const auto& [number, page] : pages.kept) bytes += page.size();
  CHECK(bytes < 10'000 * 13);
}
