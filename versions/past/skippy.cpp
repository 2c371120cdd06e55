#include "versions/past/skippy.h"

#include <bit>

#include "base/error.h"

namespace versions::past {
namespace {

// Nodes are checked one by one where they are read; this is said of nodes, and of places in them, that don't fit each other.
[[noreturn]] void damaged() {
  throw base::OperationError(base::ErrorCode::data_corruption_detected, "nodes of a snapshot log don't fit each other");
}

// The parent of a level's node, if it is written.
std::optional<uint64_t> parent_of(SkippyNodes& nodes, const SkippyOptions& options, unsigned level, uint64_t index) {
  const uint64_t parents = nodes.count(level + 1);
  if (options.fan_in > 0) {
    const uint64_t parent = index / options.fan_in;
    return parent < parents ? std::optional(parent) : std::nullopt;
  }
  if (parents == 0 || index >= nodes.get(level + 1, parents - 1)->child_end()) return std::nullopt;
  uint64_t low = 0, high = parents;  // finds the last parent whose first child is not behind the node
  while (high - low > 1) {
    const uint64_t middle = (low + high) / 2;
    (nodes.get(level + 1, middle)->first_child() <= index ? low : high) = middle;
  }
  return low;
}

// The first node of a level that has no parent yet.
uint64_t first_without_parent(SkippyNodes& nodes, unsigned level) {
  const uint64_t parents = nodes.count(level + 1);
  return parents == 0 ? 0 : nodes.get(level + 1, parents - 1)->child_end();
}

// Writes the parents that are due over a level. If `fan_in` is 0, a parent is due when the next child's part doesn't fit beside
// the others.
void raise(SkippyNodes& nodes, const SkippyOptions& options, unsigned level) {
  for (;;) {
    const uint64_t first = first_without_parent(nodes, level), count = nodes.count(level);
    if (options.fan_in > 0 && count - first < options.fan_in) return;
    std::vector<PageTable> parts;
    size_t mappings = 0;
    bool full = false;
    for (uint64_t child = first; child < count && !full; ++child) {
      PageTable part = nodes.get(level, child)->first_of_each_row();
      if (options.fan_in == 0 && child > first && mappings + part.size() > options.node_mappings) {
        full = true;
        break;
      }
      mappings += part.size();
      parts.push_back(std::move(part));
      full = options.fan_in > 0 && parts.size() == options.fan_in;
    }
    if (!full) return;
    nodes.add(level + 1, std::make_shared<SkippyNode>(first, parts));
  }
}

bool is_worth_a_level(SkippyNodes& nodes, const SkippyOptions& options, unsigned level) {
  const uint64_t count = nodes.count(level);
  if (count < std::max(options.fan_in, 2u) || !std::has_single_bit(count)) return false;
  PageTable rows;
  size_t mappings = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const SkippyNodePtr node = nodes.get(level, i);
    const MappingRun run = node->from(0);
    mappings += run.size();
    rows.take(run);
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
    : nodes_(nodes),
      options_(options),
      climbs_(climbs),
      index_(from.node),
      offset_(from.offset),
      ended_(from.node >= nodes.count(0)) {}

MappingRun SkippyScan::next() {
  if (ended_) return {};
  level_ = next_level_;
  node_ = nodes_.get(level_, index_);
  if (offset_ >= node_->end()) damaged();
  const MappingRun run = node_->from(offset_);
  advance();
  return run;
}

void SkippyScan::advance() {
  unsigned level = level_;
  while (climbs_ && (options_.height == 0 || level + 1 < options_.height)) {
    const auto parent = parent_of(nodes_, options_, level, index_);
    if (!parent) break;
    const SkippyNodePtr node = nodes_.get(level + 1, *parent);
    if (index_ < node->first_child() || index_ >= node->child_end()) damaged();
    offset_ = node->end_of(index_);
    ++level;
    index_ = *parent;
    next_level_ = level;
    if (offset_ < node->end()) return;
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
