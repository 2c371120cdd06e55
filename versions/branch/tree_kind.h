// Which hash tree commits say a collection's documents in: its option `commits`.
//
//   commits: {tree: "posTree"}                       the default
//   commits: {tree: "patriciaTrie"}
//   commits: {tree: "bucketTree", buckets: 10000}
#pragma once

#include "bson/builder.h"
#include "versions/merkle/index.h"

namespace versions {

struct TreeKind {
  merkle::Structure structure = merkle::Structure::pos_tree;
  uint32_t buckets = 0;  // of a bucket tree alone

  bool operator==(const TreeKind&) const = default;
  merkle::IndexOptions index_options() const;
};

// `commits`: as above. Throws BadValue for what no commit's tree can be; TypeMismatch.
TreeKind read_tree_kind(bson::DocumentView commits);
// Out of a collection's options as listCollections shows them.
TreeKind tree_kind_of(bson::DocumentView options);
// Its fields.
void append(bson::Builder& commits, const TreeKind& kind);

}  // namespace versions
