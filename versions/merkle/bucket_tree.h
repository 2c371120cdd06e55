// A Merkle Bucket Tree is a hash table of fixed size, and a tree of hashes over it (§3.4.2).
//
//   root     | kind 2 | buckets, varint | fan-out, varint | top 32 |
//   inner    | kind 3 | child 32 | child 32 | … |       as many as the fan-out; the last one of a level may have fewer
//   bucket   a search node of level 0
//
// The bucket of a key is the first 8 bytes of its SHA-256, big-endian, modulo the number of buckets.
#pragma once

#include "versions/merkle/index.h"

namespace versions::merkle {

struct BucketRoot {
  uint64_t buckets = 1, fan_out = 2;
  Hash top{};
};
std::optional<BucketRoot> read_bucket_root(BytesView bytes);  // nullopt: the bytes are no root of a bucket tree
BucketRoot bucket_root_of(const Node& node);                  // throws DataCorruptionDetected
std::vector<Hash> bucket_children_of(const Node& node);       // throws DataCorruptionDetected

uint64_t bucket_of(BytesView key, uint64_t buckets);

// The way from the top to a bucket.
class BucketPath {
 public:
  BucketPath() = default;  // at its end
  BucketPath(const BucketRoot& root, uint64_t bucket);
  // Returns which child of the inner node the path stands on; nullopt: it stands on the bucket.
  std::optional<uint64_t> place() const;
  void down() { below_ /= fan_out_; }

 private:
  uint64_t bucket_ = 0, fan_out_ = 2;
  uint64_t below_ = 0;  // how many buckets are below a child of the node it stands on; 0: it stands on the bucket
};

class BucketTree : public Index {
 public:
  BucketTree(uint32_t buckets, uint32_t fan_out) : buckets_(buckets), fan_out_(fan_out) {}

  Hash empty(Nodes& nodes) const override;
  Hash update(Nodes& nodes, const Hash& root, std::span<const Change> changes) const override;
  std::optional<Found> find(Nodes& nodes, const Hash& root, BytesView key) const override;
  void scan(Nodes& nodes, const Hash& root, std::optional<BytesView> from, const VisitEntry& visit) const override;
  void diff(Nodes& nodes, const Hash& a, const Hash& b, const VisitDifference& visit) const override;
  Bytes prove(Nodes& nodes, const Hash& root, BytesView key) const override;

 private:
  uint32_t buckets_, fan_out_;
};

}  // namespace versions::merkle
