// A TreeKind is the kind of hash tree in which commits keep a collection's documents: the collection's option `commits`.
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
  uint32_t buckets = 0;  // for a bucket tree alone

  bool operator==(const TreeKind&) const = default;
  merkle::IndexOptions index_options() const;
};

// `commits` is as above. Throws BadValue for an unknown tree or number of buckets, and TypeMismatch.
TreeKind read_tree_kind(bson::DocumentView commits);
// Reads a collection's options, as listCollections shows them.
TreeKind tree_kind_of(bson::DocumentView options);
// Appends the fields that read_tree_kind reads.
void append(bson::Builder& commits, const TreeKind& kind);

}  // namespace versions
