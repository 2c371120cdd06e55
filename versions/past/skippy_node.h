// A node of the log of mappings: what is written, read and kept as one value (Skippy §4.2).
//
// On level 0 mappings stand in the order in which they were made. A node above holds, one part
// behind the other, what each of its children says first of each row: repetitions within a child
// are gone, those of different children stay, because a scan may begin in a later one.
//
//   level 0   | 1:a 2:b 1:c 3:d | 2:e 2:f 1:g 4:h |
//   level 1   | 1:a 2:b 3:d       1:g 2:e 4:h     |     parts in the order of rows
//                               ^ where a scan of the first child goes on
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "versions/past/mapping.h"

namespace versions::past {

struct SkippyNode;
using SkippyNodePtr = std::shared_ptr<const SkippyNode>;

struct SkippyNode {
  struct Start {
    SnapshotId snapshot;
    uint32_t offset;
    bool operator==(const Start&) const = default;
  };

  std::vector<Mapping> mappings;
  std::vector<Start> starts;   // level 0: where each snapshot's mappings begin; the first at offset 0
  uint64_t first_child = 0;    // above level 0
  std::vector<uint32_t> ends;  // above level 0: of each child's part

  bool is_leaf() const { return ends.empty(); }
  // The snapshot that the mapping at `offset` was made for. Level 0 only.
  SnapshotId snapshot_of(uint32_t offset) const;
  size_t memory_bytes() const;

  // docs/formats/past.md.
  base::Bytes encode() const;
  static base::Result<SkippyNodePtr> decode(base::BytesView bytes);
};

// What it says first of each row, in the order of rows.
std::vector<Mapping> first_of_each_row(const SkippyNode& node);

}  // namespace versions::past
