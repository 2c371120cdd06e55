#include "versions/past/skippy.h"

#include <bit>
#include <unordered_set>

#include "base/error.h"

namespace versions::past {
namespace {

uint64_t child_end(const SkippyNode& node) { return node.first_child + node.ends.size(); }

// The parent of a level's node, where it is written.
std::optional<uint64_t> parent_of(SkippyNodes& nodes, const SkippyOptions& options, unsigned level, uint64_t index) {
  const uint64_t parents = nodes.count(level + 1);
  if (options.fan_in > 0) {
    const uint64_t parent = index / options.fan_in;
    return parent < parents ? std::optional(parent) : std::nullopt;
  }
  if (parents == 0 || index >= child_end(*nodes.get(level + 1, parents - 1))) return std::nullopt;
  uint64_t low = 0, high = parents;  // the last one whose first child is not behind
  while (high - low > 1) {
    const uint64_t middle = (low + high) / 2;
    (nodes.get(level + 1, middle)->first_child <= index ? low : high) = middle;
  }
  return low;
}

// The first node of a level that no parent has yet.
uint64_t first_without_parent(SkippyNodes& nodes, unsigned level) {
  const uint64_t parents = nodes.count(level + 1);
  return parents == 0 ? 0 : child_end(*nodes.get(level + 1, parents - 1));
}

// Writes the parents that are due over a level. By capacity a parent is due when the next child's part doesn't fit beside the others.
void raise(SkippyNodes& nodes, const SkippyOptions& options, unsigned level) {
  for (;;) {
    const uint64_t first = first_without_parent(nodes, level), count = nodes.count(level);
    if (options.fan_in > 0 && count - first < options.fan_in) return;
    auto parent = std::make_shared<SkippyNode>();
    parent->first_child = first;
    bool full = false;
    for (uint64_t child = first; child < count && !full; ++child) {
      const std::vector<Mapping> part = first_of_each_row(*nodes.get(level, child));
      if (options.fan_in == 0 && child > first && parent->mappings.size() + part.size() > options.node_mappings) {
        full = true;
        break;
      }
      parent->mappings.insert(parent->mappings.end(), part.begin(), part.end());
      parent->ends.push_back(static_cast<uint32_t>(parent->mappings.size()));
      full = options.fan_in > 0 && parent->ends.size() == options.fan_in;
    }
    if (!full) return;
    nodes.add(level + 1, std::move(parent));
  }
}

bool is_worth_a_level(SkippyNodes& nodes, const SkippyOptions& options, unsigned level) {
  const uint64_t count = nodes.count(level);
  if (count < std::max(options.fan_in, 2u) || !std::has_single_bit(count)) return false;
  std::unordered_set<RecordId> rows;
  size_t mappings = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const SkippyNodePtr node = nodes.get(level, i);
    mappings += node->mappings.size();
    for (const Mapping& mapping : node->mappings) rows.insert(mapping.row);
  }
  return static_cast<double>(rows.size()) < options.worth * static_cast<double>(mappings);
}

}  // namespace

void MemorySkippyNodes::add(unsigned level, SkippyNodePtr node) {
  if (level >= levels_.size()) levels_.resize(level + 1);
  levels_[level].push_back(std::move(node));
}

void add_to_levels(SkippyNodes& nodes, const SkippyOptions& options, SkippyNodePtr node) {
  nodes.add(0, std::move(node));
  const uint32_t height = options.height > 0 ? options.height : SkippyOptions::height_max;
  for (unsigned level = 0; level + 1 < height; ++level) {
    const uint64_t before = nodes.count(level + 1);
    if (before == 0 && options.height == 0 && !is_worth_a_level(nodes, options, level)) return;
    raise(nodes, options, level);
    if (nodes.count(level + 1) == before) return;
  }
}

SkippyScan::SkippyScan(SkippyNodes& nodes, const SkippyOptions& options, LogPosition from, bool climbs)
    : nodes_(nodes), options_(options), climbs_(climbs), index_(from.node), offset_(from.offset), ended_(from.node >= nodes.count(0)) {}

std::span<const Mapping> SkippyScan::next() {
  if (ended_) return {};
  level_ = next_level_;
  node_ = nodes_.get(level_, index_);
  base::check(offset_ < node_->mappings.size(), "a scan begins within a node");
  const auto run = std::span(node_->mappings).subspan(offset_);
  advance();
  return run;
}

void SkippyScan::advance() {
  unsigned level = level_;
  while (climbs_ && (options_.height == 0 || level + 1 < options_.height)) {
    const auto parent = parent_of(nodes_, options_, level, index_);
    if (!parent) break;
    const SkippyNodePtr node = nodes_.get(level + 1, *parent);
    const uint64_t child = index_ - node->first_child;
    base::check(child < node->ends.size(), "a parent has its children");
    ++level;
    index_ = *parent;
    offset_ = node->ends[child];
    next_level_ = level;
    if (offset_ < node->mappings.size()) return;
  }
  offset_ = 0;
  ++index_;
  while (index_ >= nodes_.count(level)) {
    if (level == 0) {
      ended_ = true;
      return;
    }
    --level;
    index_ = first_without_parent(nodes_, level);
  }
  next_level_ = level;
}

}  // namespace versions::past
