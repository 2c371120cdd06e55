#include "server/query/plan/access.h"

#include <algorithm>
#include <unordered_set>

#include "bson/compare.h"
#include "bson/keystring.h"
#include "bson/path.h"
#include "server/core/allowance.h"
#include "server/query/match/array.h"
#include "server/query/plan/bounds.h"
#include "server/query/plan/implies.h"
#include "server/query/plan/locations.h"
#include "server/query/plan/plan_bytes.h"
#include "server/query/plan/wildcard.h"

namespace server::query::plan {

namespace {

using match::Kind;
using match::Node;

constexpr size_t ranges_max = 10'000;
constexpr size_t range_bytes_max = 32 << 20;
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
                    bool multikey, const KeyForm& keys, Allowance& allowance) {
  if (path.size() <= node.path().size() + 1 || !path.starts_with(node.path()) || path[node.path().size()] != '.') return;
  const std::string_view sub_path = path.substr(node.path().size() + 1);
  for (const Node* inner : flatten(node.filter())) {
    if (inner->kind() == Kind::negation || inner->kind() == Kind::nor) continue;
    if (auto bounds = bounds_of(*inner, sub_path, multikey, keys, allowance)) {
      bounds->exact = false;
      found.push_back({&node, *std::move(bounds), group, sub_path});
    }
  }
}

// Their bytes are added to `held`.
std::vector<Candidate> candidates(const Predicates& predicates, std::string_view path, bool multikey, const KeyForm& keys,
                                  Allowance& allowance, PlanBytes& held) {
  std::vector<Candidate> found;
  size_t counted = 0;
  for (size_t i = 0; i < predicates.size(); ++i) {
    const Node* node = predicates[i];
    if (auto bounds = bounds_of(*node, path, multikey, keys, allowance))
      found.push_back({node, *std::move(bounds), no_group, {}});
    if (node->kind() == Kind::elem_match_object) {
      add_elem_match(found, static_cast<const match::ElemMatchObject&>(*node), static_cast<int>(i), path, multikey, keys,
                     allowance);
    }
    for (; counted < found.size(); ++counted) held.add(sizeof(Candidate) + bytes_of(found[counted].bounds.intervals));
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
  Bounder(const storage::Index& index, const Predicates& predicates, Allowance& allowance)
      : index_(index), view_(dynamic_cast<const WildcardView*>(&index)), predicates_(predicates), allowance_(allowance) {}

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
    PlanBytes held(allowance_);
    std::vector<Candidate> found = candidates(
        predicates_, path, multikey,
        {index_.spec().collator.get(), field.hashed(), located ? index_.spec().geo.get() : nullptr, leaves}, allowance_, held);
    if (leaves && view_->nested()) add_nested_arrays(found);
    if (multikey) found = choose(std::move(found), path);
    if (found.empty()) return everything();
    std::vector<Intervals> lists;
    lists.reserve(found.size());
    for (Candidate& candidate : found) {
      bounded.push_back(candidate.predicate);
      if (candidate.bounds.exact) covered.push_back(candidate.predicate);
      if (multikey && !is_everything(candidate.bounds.intervals))
        taken_.push_back({std::string(first_part(path)), candidate.group, candidate.sub_path});
      lists.push_back(std::move(candidate.bounds.intervals));
    }
    return intersect(std::move(lists), allowance_);
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
  Allowance& allowance_;
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

size_t value_bytes(const Intervals& intervals) {
  return bytes_of(intervals) - intervals.size() * sizeof(Interval);
}

// Prefixes are the combinations of the values of an index's leading fields.
class Prefixes {
 public:
  Prefixes(Allowance& allowance, PlanBytes& held) : allowance_(allowance), held_(held) {}

  size_t size() const { return keys_.size(); }

  // Returns about how many bytes all combinations with these intervals have.
  size_t bytes_with(const Intervals& intervals) const {
    return 2 * (bytes_ * intervals.size() + keys_.size() * value_bytes(intervals));
  }

  void lengthen(const Intervals& points, bool descending) {
    std::vector<bson::KeyString> longer;
    size_t bytes = 0;
    for (const auto& prefix : keys_) {
      for (const Interval& interval : points) {
        longer.push_back(bson::KeyString(prefix).append(interval.low, descending));
        const size_t its = longer.back().bytes().size();
        count(sizeof(bson::KeyString) + its);
        bytes += its;
      }
    }
    keys_ = std::move(longer);
    bytes_ = bytes;
  }

  void add_ranges(const Intervals& intervals, bool descending, std::vector<storage::KeyRange>& ranges) {
    for (const auto& prefix : keys_) {
      for (const Interval& interval : intervals) add(range_of(prefix, interval, descending), ranges);
    }
  }

  void add_ranges(std::vector<storage::KeyRange>& ranges) {
    for (const auto& prefix : keys_)
      add({bson::KeyString(prefix).append_before().bytes(), bson::KeyString(prefix).append_after().bytes()}, ranges);
  }

 private:
  void add(storage::KeyRange range, std::vector<storage::KeyRange>& ranges) {
    count(sizeof(storage::KeyRange) + range.from.size() + range.to.size());
    ranges.push_back(std::move(range));
  }

  void count(size_t bytes) {
    held_.add(bytes);
    allowance_.work_on(bytes);
  }

  Allowance& allowance_;
  PlanBytes& held_;
  std::vector<bson::KeyString> keys_ = std::vector<bson::KeyString>(1);
  size_t bytes_ = 0;
};

}  // namespace

size_t bytes_of(const Access& access) {
  size_t bytes = sizeof(Access) + (access.residual.size() + access.bounded.size()) * sizeof(const Node*);
  for (const Intervals& intervals : access.fields) bytes += sizeof(Intervals) + bytes_of(intervals);
  for (const storage::KeyRange& range : access.ranges) bytes += sizeof(storage::KeyRange) + range.from.size() + range.to.size();
  for (const Access& branch : access.branches) bytes += bytes_of(branch);
  return bytes;
}

bool has_position(std::string_view path) {
  const auto parts = bson::split_path(path);
  return std::any_of(parts.begin(), parts.end(), bson::is_array_index);
}

Predicates flatten(const Node& root) {
  Predicates predicates;
  flatten_into(root, predicates);
  return predicates;
}

KeyRanges key_ranges(const storage::Index& index, std::vector<Intervals>& fields, Allowance& allowance) {
  PlanBytes held(allowance);
  Prefixes prefixes(allowance, held);
  std::vector<storage::KeyRange> ranges;
  size_t i = 0, reached = fields.size();
  for (; i < fields.size(); ++i) {
    const bool descending = index.spec().fields[i].descending;
    Intervals& intervals = fields[i];
    const bool many = prefixes.size() * intervals.size() > ranges_max;
    // The first field's bounds are as many as the filter's values.
    if (i > 0 && ((many && prefixes.size() > 1) || prefixes.bytes_with(intervals) > range_bytes_max)) {
      const Interval &first = intervals.front(), &last = intervals.back();
      intervals = {{first.low, last.high, first.low_included, last.high_included}};
      if (prefixes.bytes_with(intervals) > range_bytes_max) intervals = everything();
      prefixes.add_ranges(intervals, descending, ranges);
      reached = i;
      break;
    }
    if (many || !all_points(intervals)) {
      prefixes.add_ranges(intervals, descending, ranges);
      reached = i + 1;
      break;
    }
    prefixes.lengthen(intervals, descending);
  }
  if (i == fields.size()) prefixes.add_ranges(ranges);
  for (++i; i < fields.size(); ++i) fields[i] = everything();
  std::sort(ranges.begin(), ranges.end(), [&](const auto& a, const auto& b) {
    allowance.work_on(std::min(a.from.size(), b.from.size()));
    return a.from < b.from;
  });
  return {std::move(ranges), reached};
}

Access index_access(std::shared_ptr<const storage::Index> index, const Predicates& predicates, Allowance& allowance) {
  Access access;
  access.kind = Access::Kind::index;
  Bounder bounder(*index, predicates, allowance);
  PlanBytes held(allowance);
  std::vector<Predicates> bounded(index->spec().fields.size()), covered(bounded.size());
  for (size_t i = 0; i < bounded.size(); ++i) {
    access.fields.push_back(bounder.bound(i, bounded[i], covered[i]));
    held.add(bytes_of(access.fields.back()) + (bounded[i].size() + covered[i].size()) * sizeof(const Node*));
  }
  auto [ranges, reached] = key_ranges(*index, access.fields, allowance);
  access.ranges = std::move(ranges);

  // Bounds prove a predicate only as far as they reach.
  std::unordered_set<const Node*> proven;
  bool points = true;
  for (size_t i = 0; i < reached; ++i) {
    if (!is_everything(access.fields[i])) access.bounded.insert(access.bounded.end(), bounded[i].begin(), bounded[i].end());
    proven.insert(covered[i].begin(), covered[i].end());
    points = points && all_points(access.fields[i]);
    if (points) ++access.points;
  }
  for (const Node* node : predicates) {
    if (!proven.contains(node)) access.residual.push_back(node);
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

bool covers_partial(const storage::Index& index, const Predicates& predicates, Allowance& allowance) {
  return index.spec().partial_filter.empty() || implies_partial(predicates, index, allowance);
}

namespace {

// Returns whether bounds for the path may come from a predicate that a document fulfils which has no value there.
bool finds_missing(const Node& predicate, std::string_view path, Allowance& allowance) {
  allowance.work();
  if (predicate.kind() == Kind::conjunction || predicate.kind() == Kind::disjunction) {
    const auto& children = static_cast<const match::TreeNode&>(predicate).children();
    return std::any_of(children.begin(), children.end(),
                       [&](const auto& child) { return finds_missing(*child, path, allowance); });
  }
  const auto* leaf = dynamic_cast<const match::PathNode*>(&predicate);
  if (!leaf) return false;
  const std::string& own = leaf->path();
  if (predicate.kind() == Kind::elem_match_object && path.size() > own.size() + 1 && path.starts_with(own) &&
      path[own.size()] == '.')
    return finds_missing(static_cast<const match::ElemMatchObject&>(predicate).filter(), path.substr(own.size() + 1), allowance);
  return own == path && leaf->matches_value(bson::ValueView());
}

}  // namespace

bool has_all_matches(const storage::Index& index, const Predicates& predicates, bool leading_bounded, Allowance& allowance) {
  if (!covers_partial(index, predicates, allowance)) return false;
  if (index.spec().geo) return leading_bounded && has_location_predicate(index, predicates);
  if (!index.spec().sparse) return true;
  // A sparse index lacks the documents that have none of its fields.
  if (!leading_bounded) return false;
  const std::string& leading = index.spec().fields.front().path;
  // It also lacks keys for the elements of an array that have none, as {} has none of "a.c" in {a: [{c: 1}, {}]}.
  if (index.multikey() && std::any_of(predicates.begin(), predicates.end(),
                                      [&](const Node* node) { return finds_missing(*node, leading, allowance); }))
    return false;
  return std::any_of(predicates.begin(), predicates.end(),
                     [&](const Node* node) { return !matches_missing(*node, leading, allowance); });
}

}  // namespace server::query::plan
