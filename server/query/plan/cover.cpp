#include "server/query/plan/cover.h"

#include <algorithm>

#include "server/core/allowance.h"
#include "server/query/document_metadata.h"
#include "server/query/plan/bounds.h"
#include "server/query/plan/wildcard.h"
#include "storage/collections/clustered.h"
#include "storage/collections/covered_values.h"

namespace server::query::plan {

namespace {

using match::Kind;
using match::Node;

using Paths = std::vector<std::string>;

// Returns false if the node needs more than the values at some paths.
bool add_paths(const Node& node, Paths& paths, Allowance& allowance) {
  allowance.work();
  switch (node.kind()) {
    case Kind::conjunction:
    case Kind::disjunction:
    case Kind::nor: {
      const auto& children = static_cast<const match::TreeNode&>(node).children();
      return std::all_of(children.begin(), children.end(),
                         [&](const auto& child) { return add_paths(*child, paths, allowance); });
    }
    case Kind::negation: return add_paths(static_cast<const match::NotNode&>(node).child(), paths, allowance);
    case Kind::always: return true;
    default: break;
  }
  const auto* leaf = dynamic_cast<const match::PathNode*>(&node);
  if (!leaf) return false;
  paths.push_back(leaf->path());
  return true;
}

bool lies_in(std::string_view path, std::string_view outer) {
  return path.size() > outer.size() && path.starts_with(outer) && path[outer.size()] == '.';
}

// Returns every path that is read of a document, once; nullopt: they aren't known.
std::optional<Paths> paths_read(const Access& access, const Query& query, const SortPattern& sort, const Projection* projection,
                                Allowance& allowance) {
  Paths paths;
  if (!query.count_only) {
    auto projected = projection ? projection->included_paths() : std::nullopt;
    if (!projected) return std::nullopt;
    paths = *std::move(projected);
  }
  for (const Node* node : access.residual) {
    if (!add_paths(*node, paths, allowance)) return std::nullopt;
  }
  if (!access.sorted) {
    for (const SortField& field : sort.fields()) paths.push_back(field.path);
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

}  // namespace

void mark_covered(Access& access, const storage::Collection& collection, const Query& query, const SortPattern& sort,
                  const Projection* projection, Allowance& allowance) {
  access.values.clear();
  if (access.kind != Access::Kind::index || query.return_key || !storage::entries_have_values(collection, access.index->stored()))
    return;
  if (!entries_tell_values(access)) return;
  // These are read from the document.
  if (query.metadata && (query.metadata->wants(MetaField::sort_key) || query.metadata->wants(MetaField::index_key))) return;
  // A scan of the clustered index reads the documents themselves.
  if (storage::is_clustered_index(collection, *access.index)) return;
  const auto paths = paths_read(access, query, sort, projection, allowance);
  if (!paths) return;
  const auto& fields = access.index->spec().fields;
  std::vector<bool> values(fields.size());
  for (const std::string& path : *paths) {
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const storage::IndexField& one) { return one.path == path; });
    const auto i = static_cast<size_t>(field - fields.begin());
    if (field == fields.end() || field->kind != storage::FieldKind::ordered || access.index->multikey_field(i) ||
        has_position(path))
      return;
    // With a field and one inside it, the inner one would be made twice.
    if (std::any_of(paths->begin(), paths->end(), [&](const std::string& other) { return lies_in(other, path); })) return;
    values[i] = true;
  }
  access.values = std::move(values);
}

void mark_distinct(Access& access, const Query& query) {
  if (query.distinct.empty() || access.values.empty() || !access.residual.empty() || query.skip != 0 || query.limit != 0) return;
  const auto& fields = access.index->spec().fields;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].path == query.distinct) access.distinct = i;
  }
}

std::optional<Access> distinct_scan(std::shared_ptr<const storage::Index> index, const storage::Collection& collection,
                                    const Query& query, const Projection* projection, Allowance& allowance) {
  if (query.distinct.empty() || index->spec().fields.front().path != query.distinct ||
      !has_all_matches(*index, {}, false, allowance))
    return std::nullopt;
  Access access = index_access(std::move(index), {}, allowance);
  mark_covered(access, collection, query, {}, projection, allowance);
  mark_distinct(access, query);
  return access.distinct ? std::optional(std::move(access)) : std::nullopt;
}

}  // namespace server::query::plan
