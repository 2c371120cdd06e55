// Skippy puts levels over a log of mappings, with which a scan skips repetitions (§4).
//
//   level 2   |               n0              |            one part for each child
//   level 1   |  n0  |  n1  |  n2  |  n3  |  n4  |         the first mapping of each row in each child
//   level 0   |n0|n1|n2|n3|n4|n5|n6|n7|n8|n9|              the log, in the order of snapshots
//
// A scan begins anywhere on level 0. At a node's end it goes on in the parent, behind the node's own part. If there is no parent
// yet, it goes on in the next node of its level, or further down, where the newest part of the log is. The first mapping of a row
// that it meets is the first that a scan of level 0 meets.
#pragma once

#include <optional>
#include <span>

#include "versions/past/skippy_node.h"

namespace versions::past {

struct SkippyOptions {
  uint32_t node_mappings = 2560;  // of a node of level 0
  // A node has so many children. 0: as many as fit into `node_mappings`, as in the paper.
  uint32_t fan_in = 8;
  // The number of levels, the log counted, that are made and climbed; 0: a new top level is begun once it is worth it.
  uint32_t height = 0;
  // It is worth it if less than this share of the top level's mappings are of different rows (§5.1.4). That is looked at each
  // time the top level has grown twofold.
  double worth = 0.9;
  static constexpr uint32_t height_max = 20;
};

// A store of nodes. Not thread-safe.
class SkippyNodes {
 public:
  virtual ~SkippyNodes() = default;
  virtual uint64_t count(unsigned level) = 0;
  virtual SkippyNodePtr get(unsigned level, uint64_t index) = 0;  // index < count(level)
  virtual void add(unsigned level, SkippyNodePtr node) = 0;       // behind the level's last node
};

// Keeps nodes in memory for as long as it lives.
class MemorySkippyNodes : public SkippyNodes {
 public:
  uint64_t count(unsigned level) override { return level < levels_.size() ? levels_[level].size() : 0; }
  SkippyNodePtr get(unsigned level, uint64_t index) override { return levels_[level][index]; }
  void add(unsigned level, SkippyNodePtr node) override;

 private:
  std::vector<std::vector<SkippyNodePtr>> levels_;
};

// Adds a full node of level 0, and to the levels above the nodes that this completes.
void add_to_levels(SkippyNodes& nodes, const SkippyOptions& options, SkippyNodePtr node);

// The place where a scan begins: a node of level 0, and a mapping in it.
struct LogPosition {
  uint64_t node = 0;
  uint32_t offset = 0;
  auto operator<=>(const LogPosition&) const = default;
};

// Walks over the nodes from a position on, without the open mappings behind them. Not thread-safe.
class SkippyScan {
 public:
  // `climbs` false: it stays on level 0.
  SkippyScan(SkippyNodes& nodes, const SkippyOptions& options, LogPosition from, bool climbs = true);
  // The next mappings, all of one node; empty at the end. Valid until the next call.
  MappingRun next();
  unsigned level() const { return level_; }  // the level that `next` took them from

 private:
  void advance();

  SkippyNodes& nodes_;
  const SkippyOptions options_;
  const bool climbs_;
  unsigned level_ = 0, next_level_ = 0;
  uint64_t index_ = 0;
  uint32_t offset_ = 0;
  bool ended_ = false;
  SkippyNodePtr node_;
};

}  // namespace versions::past
