#include "server/query/plan/planner.h"

#include <algorithm>

#include "base/error.h"
#include "server/core/allowance.h"
#include "server/query/match/comparison.h"
#include "server/query/match/text.h"
#include "server/query/plan/cover.h"
#include "server/query/plan/hint.h"
#include "server/query/plan/index_filters.h"
#include "server/query/plan/intersection.h"
#include "server/query/plan/locations.h"
#include "server/query/plan/merge.h"
#include "server/query/plan/plan_bytes.h"
#include "server/query/plan/text_access.h"
#include "server/query/plan/wildcard.h"
#include "storage/collections/clustered.h"

namespace server::query::plan {

namespace {

using match::Kind;
using match::Node;
using storage::Direction;

using Indexes = std::vector<std::shared_ptr<const storage::Index>>;

// A collection has no more indexes. Each $or is a way of its own, which looks at all predicates.
constexpr int disjunctions_max = 64;

Indexes usable_indexes(const storage::Collection& collection, const IndexFilter* filter) {
  Indexes indexes = collection.indexes();
  std::erase_if(indexes, [&](const auto& index) {
    // A text index answers $text alone (text_access.h).
    return !index->ready() || index->spec().hidden || index->spec().text || (filter && !filter->allows(index->spec()));
  });
  return indexes;
}

// Returns the index that the query names, or else all that it may use.
Indexes hinted_indexes(const storage::Collection& collection, const Query& query) {
  if (auto index = hinted_index(collection, query)) return {std::move(index)};
  return usable_indexes(collection, query.index_filter.get());
}

bool leading_bounded(const Access& access) {
  return !is_everything(access.fields.front());
}

// Returns how many fields have single values. The path of a wildcard index's entries is no field.
size_t bound_fields(const Access& access) {
  const auto& fields = access.index->spec().fields;
  return static_cast<size_t>(
      std::count_if(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(access.points),
                    [](const storage::IndexField& field) { return field.kind != storage::FieldKind::opaque; }));
}

// Returns whether `b` has no advantage over `a`.
bool dominates(const Access& a, const Access& b, Allowance& allowance) {
  if (a.one_record) return true;
  if (a.kind != Access::Kind::index || b.kind != Access::Kind::index || b.one_record) return false;
  if (!b.values.empty() && a.values.empty()) return false;
  if (bound_fields(a) < bound_fields(b) || (b.sorted && !a.sorted) || !includes(a.bounded, b.bounded, allowance)) return false;
  return true;
}

void drop_dominated(std::vector<Access>& ways, Allowance& allowance) {
  for (size_t i = 0; i < ways.size(); ++i) {
    for (size_t j = ways.size(); j-- > 0;) {
      if (j == i || !dominates(ways[i], ways[j], allowance)) continue;
      // Among equals, the index with fewer fields stays, then the older one.
      if (dominates(ways[j], ways[i], allowance)) {
        const auto rank = [&](size_t k) { return std::pair(ways[k].fields.size(), k); };
        if (rank(j) < rank(i)) continue;
      }
      ways.erase(ways.begin() + static_cast<std::ptrdiff_t>(j));
      if (j < i) --i;
    }
  }
}

// Orders plans that aren't tried: the branches of an $or.
bool tighter(const Access& a, const Access& b) {
  const auto rank = [](const Access& access) {
    return std::tuple(!access.one_record, -static_cast<int64_t>(bound_fields(access)),
                      -static_cast<int64_t>(access.bounded.size()), access.fields.size());
  };
  return rank(a) < rank(b);
}

std::vector<Access> bounded_scans(const Indexes& indexes, const Predicates& predicates, Allowance& allowance) {
  std::vector<Access> scans;
  PlanBytes held(allowance);
  const auto add = [&](Access scan) {
    held.add(bytes_of(scan));
    scans.push_back(std::move(scan));
  };
  for (const auto& index : indexes) {
    if (index->spec().wildcard) {
      if (!has_all_matches(*index, predicates, true, allowance)) continue;
      for (Access& scan : wildcard_scans(index, predicates, allowance)) add(std::move(scan));
      continue;
    }
    Access access = index_access(index, predicates, allowance);
    if (leading_bounded(access) && has_all_matches(*index, predicates, true, allowance)) add(std::move(access));
  }
  return scans;
}

// Each branch of the $or uses an index of its own; the other predicates hold in each. With a sort, each branch must come in its
// order.
std::optional<Access> any_of_branches(const storage::Collection& collection, const Indexes& indexes, const Node& disjunction,
                                      const Predicates& predicates, const SortPattern& sort, Allowance& allowance) {
  PlanBytes held(allowance);
  Access access;
  access.kind = Access::Kind::any_of;
  for (const auto& branch : static_cast<const match::TreeNode&>(disjunction).children()) {
    Predicates all = flatten(*branch);
    allowance.work(all.size() + predicates.size());
    for (const Node* other : predicates) {
      if (other != &disjunction) all.push_back(other);
    }
    if (const match::Text* text = text_among(all)) {
      access.branches.push_back(text_access(collection, *text, all, allowance));
      continue;
    }
    auto scans = bounded_scans(indexes, all, allowance);
    if (!sort.empty()) std::erase_if(scans, [&](Access& scan) { return !provides_sort(scan, sort, scan.direction); });
    if (scans.empty()) return std::nullopt;
    Access& best = *std::min_element(scans.begin(), scans.end(), tighter);
    held.add(bytes_of(best));
    access.branches.push_back(std::move(best));
  }
  return access;
}

// The same, for a query that has other ways: there is none if the operation has no room for so many branches.
std::optional<Access> any_of_branches_if_room(const storage::Collection& collection, const Indexes& indexes,
                                              const Node& disjunction, const Predicates& predicates, const SortPattern& sort,
                                              Allowance& allowance) {
  try {
    return any_of_branches(collection, indexes, disjunction, predicates, sort, allowance);
  } catch (const base::OperationError& error) {
    if (error.code() != base::ErrorCode::exceeded_memory_limit) throw;
    return std::nullopt;
  }
}

const match::Comparison* id_equality(const storage::Collection& collection, const Predicates& predicates) {
  if (predicates.size() != 1 || predicates.front()->kind() != Kind::eq) return nullptr;
  const auto* equality = static_cast<const match::Comparison*>(predicates.front());
  const bson::ValueView& value = equality->value();
  // The index on _id has the collection's collation.
  if (bson::is_collatable(value.type()) && !bson::same_collation(equality->collator(), collection.options().collator.get()))
    return nullptr;
  return equality->path() == "_id" && !value.is_nullish() && !value.is_array() ? equality : nullptr;
}

// The plain order of a clustered collection is that of its index on _id.
Access collection_scan(const storage::Collection& collection, const Predicates& predicates, Direction direction,
                       Allowance& allowance) {
  if (storage::is_clustered(collection)) {
    Access access = index_access(collection.indexes().front(), predicates, allowance);
    access.direction = direction;
    return access;
  }
  Access access;
  access.direction = direction;
  access.residual = predicates;
  return access;
}

// Returns the way of a query with $text, which has no other: $text stands at the top, or in an $or whose branches all use
// indexes.
Access text_way(const storage::Collection& collection, const Query& query, const Predicates& predicates, Allowance& allowance) {
  if (const match::Text* text = text_among(predicates)) return text_access(collection, *text, predicates, allowance);
  const Indexes indexes = usable_indexes(collection, query.index_filter.get());
  for (const Node* node : predicates) {
    if (node->kind() != Kind::disjunction || !match::find_text(*node)) continue;
    if (auto access = any_of_branches(collection, indexes, *node, predicates, {}, allowance)) return *std::move(access);
  }
  refuse_text_plan(collection);
}

void mark(Access& access, const storage::Collection& collection, const Query& query, const SortPattern& sort,
          const Projection* projection, Allowance& allowance) {
  if (access.kind != Access::Kind::index) return;
  if (!sort.empty()) access.sorted = provides_sort(access, sort, access.direction);
  mark_covered(access, collection, query, sort, projection, allowance);
  mark_distinct(access, query);
  explode_for_sort(access, sort, allowance);
}

// If one way skips from value to value, the others aren't tried.
void keep_distinct(std::vector<Access>& ways) {
  const auto leaping = std::find_if(ways.begin(), ways.end(), [](const Access& access) { return access.distinct.has_value(); });
  if (leaping == ways.end()) return;
  std::swap(*leaping, ways.front());
  ways.erase(ways.begin() + 1, ways.end());
}

bool matches_nothing(const Predicates& predicates) {
  return std::any_of(predicates.begin(), predicates.end(), [](const Node* node) {
    return node->kind() == Kind::always && !static_cast<const match::AlwaysNode*>(node)->answer();
  });
}

}  // namespace

std::vector<Access> ways(const std::shared_ptr<storage::Collection>& collection, const Query& query, const Matcher& matcher,
                         const SortPattern& sort, const Projection* projection, Allowance& allowance) {
  const Predicates predicates = flatten(matcher.root());
  const match::NearNode* near = match::near_of(matcher.root());
  if (!collection || matches_nothing(predicates)) {
    Access nothing;
    nothing.kind = Access::Kind::nothing;
    return {nothing};
  }
  if (near && match::find_text(matcher.root()))
    throw base::OperationError(base::ErrorCode::bad_value, "text and geoNear not allowed in same query");
  if (match::find_text(matcher.root())) return {text_way(*collection, query, predicates, allowance)};
  if (near) {
    if (query.tailable)
      throw base::OperationError(base::ErrorCode::bad_value, "tailable cursors and geo $near cannot be used together");
    if (natural_direction(query))
      throw base::OperationError(base::ErrorCode::bad_value, "hint or sort by $natural cannot be used with geo $near");
    if (!query.min.empty() || !query.max.empty())
      throw base::OperationError(base::ErrorCode::bad_value, "min and max cannot be used with geo $near");
    return {near_access(hinted_indexes(*collection, query), *collection, *near, predicates, allowance)};
  }
  // A tailable cursor follows the records in their order, whatever index is hinted.
  if (query.tailable)
    return {collection_scan(*collection, predicates, natural_direction(query).value_or(Direction::forward), allowance)};
  if (auto forced = hinted(*collection, query, predicates, allowance)) {
    mark(*forced, *collection, query, sort, projection, allowance);
    return {*std::move(forced)};
  }
  if (const auto direction = natural_direction(query)) return {collection_scan(*collection, predicates, *direction, allowance)};
  const bool hinted_wildcard = hinted_index(*collection, query) != nullptr;
  const auto* equality = id_equality(*collection, predicates);
  if (equality && !hinted_wildcard && !query.return_key && !storage::is_clustered(*collection)) {
    Access access;
    access.kind = Access::Kind::id;
    access.id = equality->value();
    access.sorted = true;
    return {access};
  }

  const Indexes indexes = hinted_indexes(*collection, query);
  for (const auto& index : indexes) {
    if (!predicates.empty()) break;
    if (index->spec().wildcard) continue;  // it is scanned for the sake of a predicate alone
    if (auto leaping = distinct_scan(index, *collection, query, projection, allowance)) return {*std::move(leaping)};
  }
  PlanBytes held(allowance);
  std::vector<Access> ways = bounded_scans(indexes, predicates, allowance);
  for (const Access& access : ways) held.add(bytes_of(access));
  const auto add_if_room = [&](Access access) {
    if (held.add_if_room(copies_of_a_way * bytes_of(access))) ways.push_back(std::move(access));
  };
  int disjunctions = 0;
  for (const Node* node : predicates) {
    if (node->kind() != Kind::disjunction) continue;
    if (++disjunctions > disjunctions_max) break;
    auto any = any_of_branches_if_room(*collection, indexes, *node, predicates, {}, allowance);
    if (any) add_if_room(*std::move(any));
    if (sort.empty()) continue;
    auto merged = any_of_branches_if_room(*collection, indexes, *node, predicates, sort, allowance);
    if (merged && merge_branches(*merged, sort)) add_if_room(*std::move(merged));
  }
  for (const auto& index : indexes) {
    if (sort.empty()) break;
    if (index->spec().wildcard) continue;
    Access access = index_access(index, predicates, allowance);
    if (leading_bounded(access) || !has_all_matches(*index, predicates, false, allowance)) continue;
    if (provides_sort(access, sort, access.direction)) add_if_room(std::move(access));
  }
  for (Access& access : ways) {
    mark(access, *collection, query, sort, projection, allowance);
    if (access.kind != Access::Kind::index) continue;
    for (const Access& part : access.branches) held.add(bytes_of(part));
  }
  keep_distinct(ways);
  drop_dominated(ways, allowance);
  if (!query.return_key && !storage::is_clustered(*collection)) add_intersections(ways, predicates, allowance);
  if (ways.empty() && hinted_wildcard) refuse_hint(*collection);
  if (ways.empty()) ways.push_back(collection_scan(*collection, predicates, Direction::forward, allowance));
  return ways;
}

}  // namespace server::query::plan
