// In a Merkle Patricia Trie keys are paths of half bytes, and runs without a branch are in one node (§3.4.1).
//
// It differs from Ethereum's: children are always named by hash, and nodes are not in RLP.
#pragma once

#include "versions/merkle/index.h"

namespace versions::merkle {

class PatriciaTrie : public Index {
 public:
  Hash empty(Nodes& nodes) const override;
  Hash update(Nodes& nodes, const Hash& root, std::span<const Change> changes) const override;
  std::optional<Found> find(Nodes& nodes, const Hash& root, BytesView key) const override;
  void scan(Nodes& nodes, const Hash& root, std::optional<BytesView> from, const VisitEntry& visit) const override;
  void diff(Nodes& nodes, const Hash& a, const Hash& b, const VisitDifference& visit) const override;
  Bytes prove(Nodes& nodes, const Hash& root, BytesView key) const override;
};

}  // namespace versions::merkle
