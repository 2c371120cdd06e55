#include "versions/branch/tree_kind.h"

#include <array>

namespace versions {

using base::ErrorCode;
using base::OperationError;
using merkle::Structure;

namespace {

constexpr int64_t buckets_default = 10'000, buckets_max = 1'000'000;

constexpr std::array<std::pair<std::string_view, Structure>, 3> names = {{
    {"posTree", Structure::pos_tree},
    {"patriciaTrie", Structure::patricia_trie},
    {"bucketTree", Structure::bucket_tree},
}};

Structure structure_named(std::string_view name) {
  for (const auto& [known, structure] : names) {
    if (name == known) return structure;
  }
  if (name == "mvmbTree") {
    throw OperationError(ErrorCode::bad_value,
                         "'commits.tree' can't be 'mvmbTree': its nodes follow from the order of writes, so that equal documents "
                         "would have other roots");
  }
  throw OperationError(ErrorCode::bad_value,
                       "'commits.tree' must be 'posTree', 'patriciaTrie' or 'bucketTree', got '" + std::string(name) + "'");
}

}  // namespace

merkle::IndexOptions TreeKind::index_options() const {
  merkle::IndexOptions options{.structure = structure};
  if (structure == Structure::bucket_tree) options.buckets = buckets;
  return options;
}

TreeKind read_tree_kind(bson::DocumentView commits) {
  TreeKind kind;
  const auto tree = commits["tree"], buckets = commits["buckets"];
  if (tree.exists()) {
    if (!tree.is_string()) throw OperationError(ErrorCode::type_mismatch, "'commits.tree' must be a string");
    kind.structure = structure_named(tree.as_string());
  }
  if (kind.structure == Structure::bucket_tree) kind.buckets = buckets_default;
  if (!buckets.exists()) return kind;
  if (kind.structure != Structure::bucket_tree)
    throw OperationError(ErrorCode::bad_value, "'commits.buckets' is of a 'bucketTree' alone");
  if (!buckets.is_number()) throw OperationError(ErrorCode::type_mismatch, "'commits.buckets' must be a number");
  const int64_t count = buckets.to_int64();
  if (count < 1 || count > buckets_max) {
    throw OperationError(ErrorCode::bad_value, "'commits.buckets' must be between 1 and " + std::to_string(buckets_max) +
                                                   ", got " + std::to_string(count));
  }
  kind.buckets = static_cast<uint32_t>(count);
  return kind;
}

TreeKind tree_kind_of(bson::DocumentView options) {
  const auto commits = options["commits"];
  return commits.is_object() ? read_tree_kind(commits.as_document()) : TreeKind();
}

void append(bson::Builder& commits, const TreeKind& kind) {
  for (const auto& [name, structure] : names) {
    if (structure == kind.structure) commits.append("tree", name);
  }
  if (kind.structure == Structure::bucket_tree) commits.append("buckets", static_cast<int32_t>(kind.buckets));
}

}  // namespace versions
