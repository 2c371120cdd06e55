// A node of the log of mappings is written, read and kept as one value (Skippy §4.2).
//
// On level 0 mappings stand in the order in which they were made. A node above holds, one part behind the other, the first
// mapping of each row in each of its children. Repetitions within a child are gone; those between children stay, because a scan
// may begin in a later child.
//
//   level 0   | 1:a 2:b 1:c 3:d | 2:e 2:f 1:g 4:h |
//   level 1   | 1:a 2:b 3:d       1:g 2:e 4:h     |     parts by pages of rows, in their order
//                               ^ where a scan of the first child goes on
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "versions/past/page_table.h"

namespace versions::past {

class SkippyNode;
using SkippyNodePtr = std::shared_ptr<const SkippyNode>;

class SkippyNode {
 public:
  struct Start {
    SnapshotId snapshot;
    uint32_t offset;
    bool operator==(const Start&) const = default;
  };

  // Makes a node of level 0. `starts` says where each snapshot's mappings begin; the first begins at 0.
  SkippyNode(std::vector<Mapping> mappings, std::vector<Start> starts)
      : mappings_(std::move(mappings)), starts_(std::move(starts)) {}
  // Makes a node above level 0, of consecutive children; each table has the first mapping of each row.
  SkippyNode(uint64_t first_child, std::span<const PageTable> children);

  bool is_leaf() const { return ends_.empty(); }
  // Only nodes of level 0 have them.
  const std::vector<Mapping>& mappings() const { return mappings_; }
  const std::vector<Start>& starts() const { return starts_; }
  SnapshotId snapshot_of(uint32_t offset) const;  // the snapshot that the mapping was made for
  // Only nodes above level 0 have it.
  uint64_t first_child() const { return first_child_; }
  uint64_t child_end() const { return first_child_ + ends_.size(); }
  // The end of this child's part.
  uint32_t end_of(uint64_t child) const { return ends_[child - first_child_]; }

  // A scan goes through a node by offsets: on level 0 they count mappings, above it pages, where a child's part begins.
  uint32_t end() const { return is_leaf() ? static_cast<uint32_t>(mappings_.size()) : ends_.back(); }
  MappingRun from(uint32_t offset) const;
  PageTable first_of_each_row() const;
  size_t memory_bytes() const;

  // docs/formats/past.md describes the bytes.
  base::Bytes encode() const;
  static base::Result<SkippyNodePtr> decode(base::BytesView bytes);

 private:
  SkippyNode() = default;
  bool take_leaf(base::BytesView in);
  bool take_inner(base::BytesView in);
  void count();

  std::vector<Mapping> mappings_;
  std::vector<Start> starts_;
  uint64_t first_child_ = 0;
  std::vector<uint32_t> ends_;  // where each child's part ends
  std::vector<size_t> sums_;    // the number of mappings up to there
  std::vector<RowPage> pages_;
  base::Bytes bytes_;  // above level 0: the node as it is written, and `packed_slack`; contents stay packed
};

}  // namespace versions::past
