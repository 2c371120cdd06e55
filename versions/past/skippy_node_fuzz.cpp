// Any bytes are taken as a node of a snapshot log. They are refused, or are a node that can be scanned from each of its places
// and whose encoding reads the same.
#include "base/fuzz_target.h"
#include "versions/past/skippy_node.h"

namespace {

using namespace versions::past;
using base::Bytes;
using base::BytesView;

std::vector<Mapping> mappings_from(const SkippyNode& node, uint32_t offset) {
  std::vector<Mapping> all;
  const MappingRun run = node.from(offset);
  run.each([&](const Mapping& mapping) { all.push_back(mapping); });
  base::check(all.size() == run.size());
  return all;
}

void check_first_of_each_row(const SkippyNode& node, const std::vector<Mapping>& mappings) {
  const PageTable table = node.first_of_each_row();
  const MappingRun run = node.from(0);
  for (const Mapping& mapping : mappings) {
    base::check(mapping.content != 0);
    base::check(table.find(mapping.row) == run.find(mapping.row));
  }
}

bool run(BytesView input) {
  const auto decoded = SkippyNode::decode(input);
  if (!decoded.ok()) return false;
  const SkippyNode& node = *decoded.value();
  const auto mappings = mappings_from(node, 0);
  // A block's mappings may all be one, which takes no bytes: looking each up would take long.
  if (mappings.size() < 500) check_first_of_each_row(node, mappings);
  if (node.is_leaf()) {
    node.snapshot_of(node.end() - 1);
  } else {
    for (uint64_t child = node.first_child(); child < node.child_end(); ++child) {
      if (node.end_of(child) < node.end()) mappings_from(node, node.end_of(child));
    }
  }
  const auto again = SkippyNode::decode(node.encode());
  base::check(again.ok() && again.value()->is_leaf() == node.is_leaf() && mappings_from(*again.value(), 0) == mappings);
  if (node.is_leaf()) base::check(again.value()->starts() == node.starts());
  return true;
}

constexpr Stamp second = Stamp{1} << 32;

std::vector<Bytes> seeds() {
  std::vector<Mapping> few = {{5, 100 * second + 1}, {6, 100 * second + 7}, {5, 99 * second}, {1 << 20, 3}}, many;
  for (int i = 0; i < 150; ++i) many.push_back({1000 + i % 70, (1'700'000'000u + i) * second + 1});
  const SkippyNode leaf(few, {{3, 0}, {9, 2}}), long_leaf(many, {{1, 0}});
  PageTable first, next;
  first.take(std::span<const Mapping>(few));
  next.take(std::span<const Mapping>(many));
  const std::vector<PageTable> children = {first, next};
  return {leaf.encode(), long_leaf.encode(), SkippyNode(8, children).encode()};
}

const base::FuzzTarget target("skippy_node", run, seeds);

}  // namespace
