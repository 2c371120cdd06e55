#include "server/query/plan/access.h"

#include <algorithm>

#include "bson/compare.h"
#include "bson/keystring.h"
#include "bson/path.h"
#include "server/query/match/array.h"
#include "server/query/plan/bounds.h"
#include "server/query/plan/implies.h"
#include "server/query/plan/locations.h"
#include "server/query/plan/wildcard.h"

namespace server::query::plan {

namespace {

using match::Kind;
using match::Node;

constexpr size_t ranges_max = 10'000;
constexpr int no_group = -1;

// A candidate is what one predicate says about one field of the index.
struct Candidate {
  const Node* predicate;
  Bounds bounds;
  int group = no_group;       // candidates inside the same $elemMatch over objects have the same group
  std::string_view sub_path;  // the path within that element
};

std::string_view first_part(std::string_view path) {
  return path.substr(0, path.find('.'));
}

void add_elem_match(std::vector<Candidate>& found, const match::ElemMatchObject& node, int group, std::string_view path,
                    bool multikey, const KeyForm& keys) {
  if (path.size() <= node.path().size() + 1 || !path.starts_with(node.path()) || path[node.path().size()] != '.') return;
  const std::string_view sub_path = path.substr(node.path().size() + 1);
  for (const Node* inner : flatten(node.filter())) {
    if (inner->kind() == Kind::negation || inner->kind() == Kind::nor) continue;
    if (auto bounds = bounds_of(*inner, sub_path, multikey, keys)) {
      bounds->exact = false;
      found.push_back({&node, *std::move(bounds), group, sub_path});
    }
  }
}

std::vector<Candidate> candidates(const Predicates& predicates, std::string_view path, bool multikey, const KeyForm& keys) {
  std::vector<Candidate> found;
  for (size_t i = 0; i < predicates.size(); ++i) {
    const Node* node = predicates[i];
    if (auto bounds = bounds_of(*node, path, multikey, keys)) found.push_back({node, *std::move(bounds), no_group, {}});
    if (node->kind() == Kind::elem_match_object) {
      add_elem_match(found, static_cast<const match::ElemMatchObject&>(*node), static_cast<int>(i), path, multikey, keys);
    }
  }
  return found;
}

// A smaller number is tighter.
int looseness(const Candidate& candidate) {
  const Intervals& intervals = candidate.bounds.intervals;
  if (intervals.empty()) return 0;
  if (all_points(intervals)) return intervals.size() == 1 ? 1 : 2;
  if (is_everything(intervals)) return 5;
  return intervals.size() == 1 ? 3 : 4;
}

class Bounder {
 public:
  Bounder(const storage::Index& index, const Predicates& predicates)
      : index_(index), view_(dynamic_cast<const WildcardView*>(&index)), predicates_(predicates) {}

  // Returns the bounds of field `i`; the fields before it are done.
  Intervals bound(size_t i, Predicates& bounded, Predicates& covered) {
    const storage::IndexField& field = index_.spec().fields[i];
    if (view_ && view_->is_path(i)) return view_->path_bounds();
    if (field.kind == storage::FieldKind::opaque || field.kind == storage::FieldKind::wildcard) return everything();
    const std::string& path = field.path;
    const bool leaves = view_ && view_->is_value(i);
    // A location may have several cells, and any of them may be the one that is found.
    const bool located = field.located();
    const bool multikey = located || index_.multikey_field(i);
    if (has_position(path) && !leaves) return everything();
    std::vector<Candidate> found =
        candidates(predicates_, path, multikey,
                   {index_.spec().collator.get(), field.hashed(), located ? index_.spec().geo.get() : nullptr, leaves});
    if (leaves && view_->nested()) add_nested_arrays(found);
    if (multikey) found = choose(std::move(found), path);
    if (found.empty()) return everything();
    Intervals intervals = everything();
    for (const Candidate& candidate : found) {
      intervals = intersect(intervals, candidate.bounds.intervals);
      bounded.push_back(candidate.predicate);
      if (candidate.bounds.exact) covered.push_back(candidate.predicate);
      if (multikey && !is_everything(candidate.bounds.intervals))
        taken_.push_back({std::string(first_part(path)), candidate.group, candidate.sub_path});
    }
    return intervals;
  }

 private:
  struct Taken {
    std::string root;
    int group;
    std::string_view sub_path;
  };

  // If documents have several keys, different ones may fulfil different predicates: so it takes one predicate per array, or those
  // of one $elemMatch on different fields of the element.
  std::vector<Candidate> choose(std::vector<Candidate> found, std::string_view path) const {
    std::erase_if(found, [&](const Candidate& candidate) {
      return std::any_of(taken_.begin(), taken_.end(), [&](const Taken& taken) {
        if (taken.root != first_part(path)) return false;
        return candidate.group == no_group || candidate.group != taken.group ||
               first_part(candidate.sub_path) == first_part(taken.sub_path);
      });
    });
    if (found.empty()) return found;
    const auto better = [](const Candidate& a, const Candidate& b) {
      return std::pair(looseness(a), a.group == no_group) < std::pair(looseness(b), b.group == no_group);
    };
    const auto best = std::min_element(found.begin(), found.end(), better);
    std::vector<Candidate> chosen;
    chosen.push_back(std::move(*best));
    return chosen;
  }

  // The array that a number leads to is a key as a whole, so the key tells little.
  static void add_nested_arrays(std::vector<Candidate>& found) {
    const Interval arrays{bson::Value::array(bson::DocumentView()), bracket(bson::Type::binary).front().low, true, false};
    for (Candidate& candidate : found) {
      candidate.bounds.intervals = unite(std::move(candidate.bounds.intervals), {arrays});
      candidate.bounds.exact = false;
    }
  }

  const storage::Index& index_;
  const WildcardView* view_;  // nullptr: the index is no wildcard index
  const Predicates& predicates_;
  std::vector<Taken> taken_;
};

void flatten_into(const Node& node, Predicates& out) {
  if (node.kind() != Kind::conjunction) return out.push_back(&node);
  for (const auto& child : static_cast<const match::TreeNode&>(node).children()) flatten_into(*child, out);
}

storage::KeyRange range_of(const bson::KeyString& prefix, const Interval& interval, bool descending) {
  bson::KeyString from = prefix, to = prefix;
  const bool from_included = descending ? interval.high_included : interval.low_included;
  const bool to_included = descending ? interval.low_included : interval.high_included;
  from.append(descending ? interval.high : interval.low, descending);
  to.append(descending ? interval.low : interval.high, descending);
  from_included ? from.append_before() : from.append_after();
  to_included ? to.append_after() : to.append_before();
  return {std::move(from).bytes(), std::move(to).bytes()};
}

// Returns whether the values may be strings, or contain some.
bool may_be_collated(const Intervals& intervals) {
  using bson::canonical_rank;
  return std::any_of(intervals.begin(), intervals.end(), [](const Interval& interval) {
    return canonical_rank(interval.low.type()) <= canonical_rank(bson::Type::array) &&
           canonical_rank(interval.high.type()) >= canonical_rank(bson::Type::string);
  });
}

bool contains(const Predicates& nodes, const Node* node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

}  // namespace

bool has_position(std::string_view path) {
  const auto parts = bson::split_path(path);
  return std::any_of(parts.begin(), parts.end(), bson::is_array_index);
}

Predicates flatten(const Node& root) {
  Predicates predicates;
  flatten_into(root, predicates);
  return predicates;
}

KeyRanges key_ranges(const storage::Index& index, std::vector<Intervals>& fields) {
  std::vector<bson::KeyString> prefixes(1);
  std::vector<storage::KeyRange> ranges;
  size_t i = 0;
  for (; i < fields.size(); ++i) {
    const bool descending = index.spec().fields[i].descending;
    if (!all_points(fields[i]) || prefixes.size() * fields[i].size() > ranges_max) {
      for (const auto& prefix : prefixes) {
        for (const Interval& interval : fields[i]) ranges.push_back(range_of(prefix, interval, descending));
      }
      break;
    }
    std::vector<bson::KeyString> longer;
    for (const auto& prefix : prefixes) {
      for (const Interval& interval : fields[i]) longer.push_back(bson::KeyString(prefix).append(interval.low, descending));
    }
    prefixes = std::move(longer);
  }
  if (i == fields.size()) {
    for (auto& prefix : prefixes)
      ranges.push_back({bson::KeyString(prefix).append_before().bytes(), bson::KeyString(prefix).append_after().bytes()});
  }
  const size_t reached = std::min(i + 1, fields.size());
  for (++i; i < fields.size(); ++i) fields[i] = everything();
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
  return {std::move(ranges), reached};
}

Access index_access(std::shared_ptr<const storage::Index> index, const Predicates& predicates) {
  Access access;
  access.kind = Access::Kind::index;
  Bounder bounder(*index, predicates);
  std::vector<Predicates> bounded(index->spec().fields.size()), covered(bounded.size());
  for (size_t i = 0; i < bounded.size(); ++i) access.fields.push_back(bounder.bound(i, bounded[i], covered[i]));
  auto [ranges, reached] = key_ranges(*index, access.fields);
  access.ranges = std::move(ranges);

  // Bounds prove a predicate only as far as they reach.
  Predicates proven;
  bool points = true;
  for (size_t i = 0; i < reached; ++i) {
    if (!is_everything(access.fields[i])) access.bounded.insert(access.bounded.end(), bounded[i].begin(), bounded[i].end());
    proven.insert(proven.end(), covered[i].begin(), covered[i].end());
    points = points && all_points(access.fields[i]);
    if (points) ++access.points;
  }
  for (const Node* node : predicates) {
    if (!contains(proven, node)) access.residual.push_back(node);
  }
  access.one_record = index->spec().unique && access.points == bounded.size() && access.ranges.size() == 1 && !index->multikey();
  access.index = std::move(index);
  return access;
}

bool provides_sort(const Access& access, const SortPattern& sort, storage::Direction& direction) {
  const auto& spec = access.index->spec();
  const bool all_open = [&] {
    for (size_t i = 0; i < access.fields.size(); ++i) {
      if (access.index->multikey_field(i) && !is_everything(access.fields[i])) return false;
    }
    return true;
  }();
  const bool ordered_alike = bson::same_collation(spec.collator.get(), sort.collator());
  std::optional<bool> backward;
  size_t at = 0;
  for (size_t i = 0; i < spec.fields.size() && at < sort.fields().size(); ++i) {
    const bool single = access.fields[i].size() == 1 && access.fields[i].front().is_point() && !access.index->multikey_field(i);
    const SortField& wanted = sort.fields()[at];
    if (wanted.path != spec.fields[i].path) {
      if (single) continue;
      return false;
    }
    ++at;
    if (single) continue;
    if (spec.fields[i].kind != storage::FieldKind::ordered) return false;
    // An array sorts by its least or greatest element, and only a scan of all its keys meets that first.
    if (access.index->multikey_field(i) && !all_open) return false;
    if (!ordered_alike && may_be_collated(access.fields[i])) return false;
    const bool reversed = wanted.descending != spec.fields[i].descending;
    if (backward && *backward != reversed) return false;
    backward = reversed;
  }
  direction = backward.value_or(false) ? storage::Direction::backward : storage::Direction::forward;
  return at == sort.fields().size();
}

bool covers_partial(const storage::Index& index, const Predicates& predicates) {
  return index.spec().partial_filter.empty() || implies_partial(predicates, index);
}

namespace {

// Returns whether bounds for the path may come from a predicate that a document fulfils which has no value there.
bool finds_missing(const Node& predicate, std::string_view path) {
  if (predicate.kind() == Kind::conjunction || predicate.kind() == Kind::disjunction) {
    const auto& children = static_cast<const match::TreeNode&>(predicate).children();
    return std::any_of(children.begin(), children.end(), [&](const auto& child) { return finds_missing(*child, path); });
  }
  const auto* leaf = dynamic_cast<const match::PathNode*>(&predicate);
  if (!leaf) return false;
  const std::string& own = leaf->path();
  if (predicate.kind() == Kind::elem_match_object && path.size() > own.size() + 1 && path.starts_with(own) &&
      path[own.size()] == '.')
    return finds_missing(static_cast<const match::ElemMatchObject&>(predicate).filter(), path.substr(own.size() + 1));
  return own == path && leaf->matches_value(bson::ValueView());
}

}  // namespace

bool has_all_matches(const storage::Index& index, const Predicates& predicates, bool leading_bounded) {
  if (!covers_partial(index, predicates)) return false;
  if (index.spec().geo) return leading_bounded && has_location_predicate(index, predicates);
  if (!index.spec().sparse) return true;
  // A sparse index lacks the documents that have none of its fields.
  if (!leading_bounded) return false;
  const std::string& leading = index.spec().fields.front().path;
  // It also lacks keys for the elements of an array that have none, as {} has none of "a.c" in {a: [{c: 1}, {}]}.
  if (index.multikey() &&
      std::any_of(predicates.begin(), predicates.end(), [&](const Node* node) { return finds_missing(*node, leading); }))
    return false;
  return std::any_of(predicates.begin(), predicates.end(), [&](const Node* node) { return !matches_missing(*node, leading); });
}

}  // namespace server::query::plan
