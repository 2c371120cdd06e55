#include "dedup/metadata_log.h"

#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "dedup/metadata_page.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

Metadata some_entry(base::Random& random, int64_t record) {
  Metadata entry;
  entry.id = {static_cast<uint32_t>(1 + random.below(2)), record, random() >> random.below(60)};
  entry.placement = {record - static_cast<int64_t>(random.below(50)), static_cast<uint32_t>(random.below(100))};
  for (uint64_t features = random.below(9); features > 0; --features) entry.features.add(static_cast<uint32_t>(random()));
  entry.has_lineage = !entry.features.empty() && random.below(2) == 0;
  for (uint64_t bases = random.below(3); bases > 0; --bases)
    entry.hop_bases.push_back({entry.id.collection, record - static_cast<int64_t>(random.below(20)), random()});
  return entry;
}

bool same(const Metadata& a, const Metadata& b) {
  return a.id == b.id && a.placement == b.placement && a.features == b.features && a.lineage() == b.lineage() &&
         a.hop_bases == b.hop_bases;
}

std::map<ContentId, Metadata> live(MetadataLog& log) {
  std::map<ContentId, Metadata> entries;
  log.for_each_live([&](MetadataPointer, const Metadata& entry) { entries[entry.id] = entry; });
  return entries;
}

}  // namespace

TEST_CASE("a page gives back what was written, superseded entries left out") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    MetadataSlots slots;
    for (int i = 0; i < 50; ++i) {
      slots.emplace_back();
      if (random.below(4)) slots.back() = some_entry(random, i * 3);
      if (slots.back() && random.below(4) == 0) slots.back()->superseded = true;
    }
    const auto read = read_metadata_page(write_metadata_page(slots));
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->size() == slots.size());
    for (size_t i = 0; i < slots.size(); ++i) {
      RC_ASSERT((*read)[i].has_value() == (slots[i] && !slots[i]->superseded));
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
        // Mostly the newest, as in real life.
        auto victim = std::prev(model.end());
        for (uint64_t back = random.below(30); back > 0 && victim != model.begin(); --back) --victim;
        const MetadataPointer pointer = pointers.at(victim->first);
        RC_ASSERT(log->find(pointer) != nullptr);
        RC_ASSERT(same(*log->find(pointer), victim->second));
        if (random.below(2)) {
          log->supersede(pointer, 1, 5);
        } else {
          log->drop(pointer);
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
    if (i > 0) log.supersede(pointers[static_cast<size_t>(i) - 1], pointers.back(), 9);
  }
  log.flush();
  CHECK(log.live() == 1);
  CHECK(pages.kept.size() <= 2);
}
