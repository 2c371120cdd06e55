#include "versions/past/skippy_node.h"

#include <algorithm>

#include "base/varint.h"

namespace versions::past {
namespace {

constexpr char leaf_form = 1, inner_form = 2;

// Of two parts in the order of rows; where both have a row the first says what it was.
std::vector<Mapping> merged(std::span<const Mapping> first, std::span<const Mapping> second) {
  std::vector<Mapping> all;
  all.reserve(first.size() + second.size());
  auto a = first.begin(), b = second.begin();
  while (a != first.end() && b != second.end()) {
    const bool from_first = a->row <= b->row;
    b += a->row >= b->row;
    if (from_first) {
      all.push_back(*a++);
    } else {
      all.push_back(*(b - 1));
    }
  }
  all.insert(all.end(), a, first.end());
  all.insert(all.end(), b, second.end());
  return all;
}

std::vector<Mapping> merged_parts(const SkippyNode& node, size_t first, size_t last) {
  const size_t begin = first == 0 ? 0 : node.ends[first - 1];
  if (last - first == 1) return {node.mappings.begin() + static_cast<ptrdiff_t>(begin), node.mappings.begin() + node.ends[first]};
  const size_t middle = (first + last) / 2;
  return merged(merged_parts(node, first, middle), merged_parts(node, middle, last));
}

}  // namespace

SnapshotId SkippyNode::snapshot_of(uint32_t offset) const {
  return (std::upper_bound(starts.begin(), starts.end(), offset, [](uint32_t at, const Start& start) { return at < start.offset; }) - 1)->snapshot;
}

size_t SkippyNode::memory_bytes() const {
  return sizeof *this + mappings.capacity() * sizeof(Mapping) + starts.capacity() * sizeof(Start) + ends.capacity() * sizeof(uint32_t);
}

std::vector<Mapping> first_of_each_row(const SkippyNode& node) {
  if (!node.is_leaf()) return merged_parts(node, 0, node.ends.size());
  // The order of what was made is the order of places: sorting by both keeps the first of a row in front.
  std::vector<std::pair<RecordId, uint32_t>> order(node.mappings.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = {node.mappings[i].row, i};
  std::sort(order.begin(), order.end());
  std::vector<Mapping> all;
  all.reserve(order.size());
  for (const auto& [row, place] : order) {
    if (all.empty() || all.back().row != row) all.push_back(node.mappings[place]);
  }
  return all;
}

// Rows and contents as distances from those before: within a part rows go up, and contents of one time are near each other.
base::Bytes SkippyNode::encode() const {
  base::Bytes out;
  out.reserve(mappings.size() * 6 + 64);
  out.push_back(is_leaf() ? leaf_form : inner_form);
  base::append_varint(out, mappings.size());
  if (is_leaf()) {
    base::append_varint(out, starts.size());
    Start before{0, 0};
    for (const Start& start : starts) {
      base::append_varint(out, start.snapshot - before.snapshot);
      base::append_varint(out, start.offset - before.offset);
      before = start;
    }
  } else {
    base::append_varint(out, first_child);
    base::append_varint(out, ends.size());
    uint32_t before = 0;
    for (const uint32_t end : ends) base::append_varint(out, end - std::exchange(before, end));
  }
  Mapping before;
  for (const Mapping& mapping : mappings) {
    base::append_varint(out, base::zigzag(static_cast<int64_t>(static_cast<uint64_t>(mapping.row) - static_cast<uint64_t>(before.row))));
    base::append_varint(out, base::zigzag(static_cast<int64_t>(mapping.content - before.content)));
    before = mapping;
  }
  return out;
}

base::Result<SkippyNodePtr> SkippyNode::decode(base::BytesView bytes) {
  const base::Failure damaged{base::ErrorCode::data_corruption_detected, "a node of a snapshot log is damaged"};
  const size_t length = bytes.size();
  if (bytes.empty() || (bytes[0] != leaf_form && bytes[0] != inner_form)) return damaged;
  const bool leaf = bytes[0] == leaf_form;
  bytes.remove_prefix(1);
  const auto node = std::make_shared<SkippyNode>();
  // A mapping takes two bytes at least, a start likewise, an end one: what claims to be more is not believed.
  const auto count = base::take_varint(bytes);
  if (!count || *count == 0 || *count > length || *count > UINT32_MAX) return damaged;
  if (leaf) {
    const auto starts = base::take_varint(bytes);
    if (!starts || *starts == 0 || *starts > *count) return damaged;
    Start at{0, 0};
    for (uint64_t i = 0; i < *starts; ++i) {
      const auto snapshot = base::take_varint(bytes), offset = base::take_varint(bytes);
      if (!snapshot || !offset || *snapshot == 0 || (i == 0) != (*offset == 0)) return damaged;
      if (*snapshot > UINT64_MAX - at.snapshot || *offset >= *count - at.offset) return damaged;
      at = {at.snapshot + *snapshot, static_cast<uint32_t>(at.offset + *offset)};
      node->starts.push_back(at);
    }
  } else {
    const auto first_child = base::take_varint(bytes), ends = base::take_varint(bytes);
    if (!first_child || !ends || *ends == 0 || *ends > *count) return damaged;
    node->first_child = *first_child;
    uint64_t at = 0;
    for (uint64_t i = 0; i < *ends; ++i) {
      const auto part = base::take_varint(bytes);
      if (!part || *part == 0 || *part > *count - at) return damaged;
      at += *part;
      node->ends.push_back(static_cast<uint32_t>(at));
    }
    if (at != *count) return damaged;
  }
  node->mappings.reserve(*count);
  Mapping at;
  size_t part = 0;
  for (uint64_t i = 0; i < *count; ++i) {
    const auto row = base::take_varint(bytes), content = base::take_varint(bytes);
    if (!row || !content) return damaged;
    const RecordId before = at.row;
    at.row = static_cast<RecordId>(static_cast<uint64_t>(at.row) + static_cast<uint64_t>(base::unzigzag(*row)));
    at.content += static_cast<uint64_t>(base::unzigzag(*content));
    if (at.content == 0) return damaged;
    if (!leaf) {
      const bool begins = part == 0 ? i == 0 : i == node->ends[part - 1];
      if (!begins && at.row <= before) return damaged;
      if (i + 1 == node->ends[part]) ++part;
    }
    node->mappings.push_back(at);
  }
  if (!bytes.empty()) return damaged;
  return SkippyNodePtr(node);
}

}  // namespace versions::past
