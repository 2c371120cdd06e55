// POS-Tree and MVMB+-Tree are ordered trees whose inner nodes hold the last key below each child, and its hash.
#pragma once

#include "versions/merkle/arena.h"
#include "versions/merkle/cutter.h"
#include "versions/merkle/index.h"

namespace versions::merkle {

class SearchTree : public Index {
 public:
  // `overflow` makes it the baseline: nodes have at most 1.5 node_bytes, are split when they are fuller, and go when they are
  // empty.
  SearchTree(Cut cut, uint32_t node_bytes) : cut_(cut), node_bytes_(node_bytes) {}

  Hash empty(Nodes& nodes) const override;
  Hash update(Nodes& nodes, const Hash& root, std::span<const Change> changes) const override;
  std::optional<Found> find(Nodes& nodes, const Hash& root, BytesView key) const override;
  void scan(Nodes& nodes, const Hash& root, std::optional<BytesView> from, const VisitEntry& visit) const override;
  void diff(Nodes& nodes, const Hash& a, const Hash& b, const VisitDifference& visit) const override;
  Bytes prove(Nodes& nodes, const Hash& root, BytesView key) const override;

 private:
  // The changes of a level, for the level above: nodes that went and nodes that came.
  struct Above {
    std::vector<Change> changes;
    Arena bytes;  // the bytes that `changes` refers to
    bool changed = false;
  };
  // `all`: lists also the nodes that didn't change among those that were read.
  Above rewrite(Nodes& nodes, const NodePtr& root, unsigned level, std::span<const Change> changes, bool all) const;
  Above write(Nodes& nodes, unsigned level, std::span<const Change> entries) const;

  Cut cut_;
  uint32_t node_bytes_;
};

}  // namespace versions::merkle
