// On any level, from any start, and over the open end: the first mapping of a row that a scan meets is the log's first one.
#include "versions/past/skippy.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "base/random.h"
#include "base/testing.h"
#include "versions/past/page_table.h"

using namespace versions::past;

namespace {

// A log in which each mapping has a snapshot of its own, with the list of all mappings beside it.
struct Log {
  SkippyOptions options;
  MemorySkippyNodes nodes;
  std::vector<Mapping> all;

  void write(base::Random& random, size_t count, uint64_t rows, double hot) {
    for (size_t i = 0; i < count; ++i) {
      // `hot` of the writes go to the other share of the rows: 0.8 is 80/20.
      const auto few = static_cast<uint64_t>(static_cast<double>(rows) * (1 - hot)) + 1;
      const uint64_t row = random.unit() < hot ? random.below(few) : random.below(rows);
      all.push_back({static_cast<RecordId>(row + 1), all.size() + 1});
      if (all.size() % options.node_mappings != 0) continue;
      std::vector<SkippyNode::Start> starts;
      for (uint32_t at = 0; at < options.node_mappings; ++at) starts.push_back({all.size() - options.node_mappings + at + 1, at});
      add_to_levels(
          nodes, options,
          std::make_shared<SkippyNode>(std::vector<Mapping>(all.end() - options.node_mappings, all.end()), std::move(starts)));
    }
  }
  size_t sealed() const { return all.size() / options.node_mappings * options.node_mappings; }

  PageTable brute(size_t from) const {
    PageTable table;
    table.take(std::span(all).subspan(from));
    return table;
  }
  PageTable scanned(size_t from, size_t* count = nullptr, unsigned* highest = nullptr) {
    PageTable table;
    if (from < sealed()) {
      SkippyScan scan(nodes, options, {from / options.node_mappings, static_cast<uint32_t>(from % options.node_mappings)});
      for (auto run = scan.next(); !run.empty(); run = scan.next()) {
        table.take(run);
        if (count) *count += run.size();
        if (highest) *highest = std::max(*highest, scan.level());
      }
    }
    table.take(std::span(all).subspan(std::max(from, sealed())));
    return table;
  }
};

std::vector<Mapping> all_of(const MappingRun& run) {
  std::vector<Mapping> all;
  run.each([&](const Mapping& mapping) { all.push_back(mapping); });
  return all;
}

std::vector<SkippyOptions> schemes() {
  std::vector<SkippyOptions> all;
  for (const uint32_t fan_in : {0u, 2u, 8u}) {
    for (const uint32_t height : {0u, 1u, 2u, 3u, 5u}) all.push_back({.node_mappings = 16, .fan_in = fan_in, .height = height});
  }
  return all;
}

}  // namespace

TEST_CASE("a scan over levels meets of each row first what the log says first of it") {
  base::Random random(base::testing::seed() + 11);
  for (const SkippyOptions& options : schemes()) {
    for (const double hot : {0.5, 0.8, 0.99}) {
      CAPTURE(options.fan_in, options.height, hot);
      Log log{options, {}, {}};
      while (log.all.size() < 3000) {
        log.write(random, 1 + random.below(400), 200, hot);
        for (int i = 0; i < 12; ++i) {
          const size_t from = random.below(log.all.size());
          CAPTURE(from, log.all.size());
          REQUIRE(log.scanned(from).in_order() == log.brute(from).in_order());
        }
      }
    }
  }
}

TEST_CASE("parts of a node's children keep what they repeat of each other: a scan may begin in a later one") {
  Log log{{.node_mappings = 2, .fan_in = 2, .height = 2}, {}, {}};
  for (const RecordId row : {1, 2, 1, 3}) {
    log.all.push_back({row, log.all.size() + 1});
    if (log.all.size() % 2 != 0) continue;
    const std::vector<SkippyNode::Start> starts = {{log.all.size() - 1, 0}, {log.all.size(), 1}};
    add_to_levels(log.nodes, log.options,
                  std::make_shared<SkippyNode>(std::vector<Mapping>(log.all.end() - 2, log.all.end()), starts));
  }
  const SkippyNodePtr parent = log.nodes.get(1, 0);
  CHECK(all_of(parent->from(0)) == std::vector<Mapping>{{1, 1}, {2, 2}, {1, 3}, {3, 4}});
  CHECK(all_of(parent->from(parent->end_of(0))) == std::vector<Mapping>{{1, 3}, {3, 4}});
  // Repetitions within a child are gone one level further up, and only there.
  CHECK(parent->first_of_each_row().in_order() == std::vector<Mapping>{{1, 1}, {2, 2}, {3, 4}});
}

TEST_CASE("levels leave repetitions behind, and are begun where there are some") {
  base::Random random(3);
  const auto scan_of = [&](SkippyOptions options, double hot, unsigned* highest) {
    Log log{options, {}, {}};
    log.write(random, 64 * 1024, 300, hot);
    size_t count = 0;
    log.scanned(0, &count, highest);
    return count;
  };
  unsigned none = 0, some = 0;
  const size_t flat = scan_of({.node_mappings = 64, .height = 1}, 0.9, &none);
  const size_t levels = scan_of({.node_mappings = 64}, 0.9, &some);
  CHECK(none == 0);
  CHECK(some >= 2);
  CHECK(levels * 3 < flat);

  // The rows are written once each, so another level would gain nothing.
  Log once{{.node_mappings = 64}, {}, {}};
  for (RecordId row = 1; row <= 64 * 64; ++row) {
    std::vector<Mapping> mappings;
    for (; mappings.size() < 64; ++row) mappings.push_back({row, static_cast<uint64_t>(row)});
    const std::vector<SkippyNode::Start> starts = {{static_cast<SnapshotId>(row), 0}};
    add_to_levels(once.nodes, once.options, std::make_shared<SkippyNode>(std::move(mappings), starts));
  }
  CHECK(once.nodes.count(0) > 32);
  CHECK(once.nodes.count(1) == 0);
}

namespace {

void check_read_again(const SkippyNode& node) {
  const base::Bytes bytes = node.encode();
  const auto again = SkippyNode::decode(bytes);
  REQUIRE(again.ok());
  CHECK(all_of(again.value()->from(0)) == all_of(node.from(0)));
  CHECK(again.value()->starts() == node.starts());
  CHECK(again.value()->first_child() == node.first_child());
  CHECK(again.value()->child_end() == node.child_end());
  for (uint64_t child = node.first_child(); child < node.child_end(); ++child)
    CHECK(again.value()->end_of(child) == node.end_of(child));
  CHECK(again.value()->encode() == bytes);
}

}  // namespace

TEST_CASE("nodes are read as they were written, whatever rows and contents they have") {
  base::Random random(base::testing::seed() + 13);
  for (int i = 0; i < 300; ++i) {
    // The test covers all widths, rows side by side and far apart, and equal rows.
    const unsigned row_bits = static_cast<unsigned>(random.below(64)), second_bits = static_cast<unsigned>(random.below(33)),
                   count_bits = static_cast<unsigned>(random.below(33));
    const auto some = [&](unsigned bits) { return bits == 0 ? 0 : random() >> (64 - bits); };
    const uint64_t row = some(static_cast<unsigned>(random.below(63))), second = some(static_cast<unsigned>(random.below(33))),
                   count = some(static_cast<unsigned>(random.below(33)));
    std::vector<PageTable> children;
    for (uint64_t child = 0; child <= random.below(3); ++child) {
      std::vector<Mapping> mappings;
      for (uint64_t size = random.below(400) + 1; mappings.size() < size;) {
        const uint64_t content = ((second + some(second_bits)) << 32) | static_cast<uint32_t>(count + some(count_bits));
        mappings.push_back({static_cast<RecordId>((row + some(row_bits)) & INT64_MAX), std::max<uint64_t>(content, 1)});
      }
      children.emplace_back().take(mappings);
      const SkippyNode leaf(mappings, {{child + 1, 0}});
      CHECK(leaf.mappings() == mappings);
      check_read_again(leaf);
      CHECK(leaf.first_of_each_row().in_order() == children.back().in_order());
    }
    const SkippyNode node(random.below(100), children);
    std::vector<Mapping> due;
    for (const PageTable& child : children) {
      for (const Mapping& mapping : child.in_order()) due.push_back(mapping);
    }
    CHECK(all_of(node.from(0)) == due);
    CHECK(node.from(0).size() == due.size());
    CHECK(node.from(0).find(due.back().row) ==
          std::find_if(due.begin(), due.end(), [&](const Mapping& mapping) { return mapping.row == due.back().row; })->content);
    check_read_again(node);
  }
}

TEST_CASE("damaged nodes are refused, and those of a form that isn't known") {
  base::Random random(5);
  Log log{{.node_mappings = 32, .fan_in = 4, .height = 3}, {}, {}};
  log.write(random, 32 * 16, 100, 0.8);
  for (const unsigned level : {0u, 1u, 2u}) {
    const SkippyNodePtr node = log.nodes.get(level, log.nodes.count(level) - 1);
    check_read_again(*node);
    const base::Bytes bytes = node->encode();
    for (size_t cut = 0; cut < bytes.size(); ++cut) CHECK_FALSE(SkippyNode::decode(base::BytesView(bytes).substr(0, cut)).ok());
    CHECK_FALSE(SkippyNode::decode(bytes + '\0').ok());
    for (const char form : {'\0', '\1', '\2', '\5'}) {
      base::Bytes other = bytes;
      other[0] = form;
      CHECK(SkippyNode::decode(other).failure().message ==
            "a node of a snapshot log has a form that isn't known: " + std::to_string(form));
    }
    for (int i = 0; i < 2000; ++i) {
      base::Bytes damaged = bytes;
      damaged[random.below(damaged.size())] = static_cast<char>(random());
      const auto read = SkippyNode::decode(damaged);
      if (!read.ok()) continue;  // otherwise it is a node with other numbers, which must be walked without harm
      CHECK(read.value()->is_leaf() == (read.value()->starts().size() > 0));
      read.value()->from(0).each([](const Mapping& mapping) { CHECK(mapping.content != 0); });
      read.value()->first_of_each_row();
    }
  }
}

TEST_CASE("a page table is a map of what was taken first") {
  base::Random random(base::testing::seed() + 12);
  for (const int64_t stride : {int64_t{1}, int64_t{5}, int64_t{64}, int64_t{4096}, int64_t{1} << 32}) {
    PageTable table;
    std::map<RecordId, Stamp> model;
    const auto any = [&] { return Mapping{static_cast<RecordId>(random.below(2000)) * stride + 1, random.below(1000) + 1}; };
    for (int i = 0; i < 1500; ++i) {
      const size_t before = model.size();
      if (random.below(20) > 0) {
        const Mapping mapping = any();
        CHECK(table.take({&mapping, 1}) == model.emplace(mapping.row, mapping.content).second);
        continue;
      }
      // It takes many at once: packed pages, or a whole table.
      PageTable more;
      for (uint64_t count = random.below(200) + 1; count > 0; --count) {
        const Mapping mapping = any();
        more.take({&mapping, 1});
      }
      for (const Mapping& mapping : more.in_order()) model.emplace(mapping.row, mapping.content);
      const SkippyNode node(0, {&more, 1});
      CHECK((random.below(2) ? table.take(more) : table.take(node.from(0))) == model.size() - before);
    }
    CHECK(table.size() == model.size());
    std::vector<Mapping> ordered;
    for (const auto& [row, content] : model) ordered.push_back({row, content});
    CHECK(table.in_order() == ordered);
    const auto order = table.order();
    for (const bool forward : {true, false}) {
      if (!forward) std::reverse(ordered.begin(), ordered.end());
      PageTableWalk walk(table, order, forward);
      for (const Mapping& due : ordered) {
        REQUIRE(walk.at() == due);
        walk.step();
      }
      CHECK_FALSE(walk.at());
      for (int i = 0; i < 300; ++i) {
        const RecordId after = static_cast<RecordId>(random.below(2'200)) * stride + static_cast<RecordId>(random.below(3));
        const auto due = std::find_if(ordered.begin(), ordered.end(),
                                      [&](const Mapping& one) { return forward ? one.row > after : one.row < after; });
        walk.seek_after(after);
        CHECK(walk.at() == (due == ordered.end() ? std::nullopt : std::optional(*due)));
      }
    }
    const PageTable copy = table;
    for (RecordId row = 0; row < 2100; ++row) {
      const auto found = model.find(row * stride + 1);
      CHECK(copy.find(row * stride + 1) == (found == model.end() ? std::nullopt : std::optional(found->second)));
    }
  }
}

TEST_CASE("a page table takes little memory, however far apart its rows are") {
  for (const auto& [stride, bytes] : {std::pair{1, 24}, {5, 64}, {64, 120}, {100'000, 120}}) {
    PageTable table;
    for (RecordId row = 1; row <= 10'000; ++row) {
      const Mapping mapping{row * stride, 1};
      table.take({&mapping, 1});
    }
    CAPTURE(stride);
    CHECK(table.memory_bytes() < table.size() * static_cast<size_t>(bytes));
  }
}
