// POS-Tree and MVMB+-Tree: ordered trees whose inner nodes hold the last key below each child, and its hash.
#pragma once

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
  // The level's changes become nodes, and these changes for the level above.
  struct Above {
    std::vector<Change> changes;
    std::vector<NodePtr> old, made;  // that the changes' bytes are in
  };
  Above rewrite(Nodes& nodes, const NodePtr& root, unsigned level, std::span<const Change> changes) const;

  Cut cut_;
  uint32_t node_bytes_;
};

}  // namespace versions::merkle
