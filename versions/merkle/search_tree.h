// POS-Tree and MVMB+-Tree: ordered trees whose inner nodes hold the last key below each child, and its hash.
#pragma once

#include "versions/merkle/arena.h"
#include "versions/merkle/cutter.h"
#include "versions/merkle/index.h"

namespace versions::merkle {

class SearchTree : public Index {
 public:
  // `overflow` makes it the baseline: nodes of at most 1.5 node_bytes, split when they are fuller, gone when they are empty.
  SearchTree(Cut cut, uint32_t node_bytes) : cut_(cut), node_bytes_(node_bytes) {}

  Hash empty(Nodes& nodes) const override;
  Hash update(Nodes& nodes, const Hash& root, std::span<const Change> changes) const override;
  std::optional<Found> find(Nodes& nodes, const Hash& root, BytesView key) const override;
  void scan(Nodes& nodes, const Hash& root, std::optional<BytesView> from, const VisitEntry& visit) const override;
  void diff(Nodes& nodes, const Hash& a, const Hash& b, const VisitDifference& visit) const override;
  Bytes prove(Nodes& nodes, const Hash& root, BytesView key) const override;

 private:
  // What became of a level, for the level above: its nodes that went and came.
  struct Above {
    std::vector<Change> changes;
    Arena bytes;  // that they are in
    bool changed = false;
  };
  // `all`: nodes that are as they were among those that were looked at, too.
  Above rewrite(Nodes& nodes, const NodePtr& root, unsigned level, std::span<const Change> changes, bool all) const;
  Above write(Nodes& nodes, unsigned level, std::span<const Change> entries) const;

  Cut cut_;
  uint32_t node_bytes_;
};

}  // namespace versions::merkle
