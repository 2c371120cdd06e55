#include "server/query/plan/intersection.h"

#include <algorithm>
#include <unordered_set>

#include "server/core/allowance.h"

namespace server::query::plan {

namespace {

// Each pair takes part in every race, so of many scans only the first are paired.
constexpr size_t scans_max = 3;

// Returns whether the scan is over entries with one key, whose records come in the order of their ids.
bool is_in_record_order(const Access& access) {
  if (access.kind != Access::Kind::index || access.one_record || access.ranges.size() != 1 || access.distinct) return false;
  const auto& fields = access.index->spec().fields;
  return access.points == fields.size() && std::ranges::all_of(fields, [](const storage::IndexField& field) {
           return field.kind == storage::FieldKind::ordered || field.kind == storage::FieldKind::hashed;
         });
}

Access intersection(const Access& a, const Access& b, const Predicates& predicates) {
  Access both;
  both.kind = Access::Kind::all_of;
  for (const Access* part : {&a, &b}) {
    Access scan = *part;
    scan.direction = storage::Direction::forward;
    scan.values.clear();
    both.branches.push_back(std::move(scan));
  }
  both.residual = predicates;
  return both;
}

}  // namespace

bool includes(const Predicates& all, const Predicates& some, Allowance& allowance) {
  constexpr size_t few = 8;
  allowance.work(all.size() + some.size());
  if (all.size() <= few) {
    return std::ranges::all_of(some, [&](const match::Node* node) { return std::ranges::find(all, node) != all.end(); });
  }
  const std::unordered_set<const match::Node*> known(all.begin(), all.end());
  return std::ranges::all_of(some, [&](const match::Node* node) { return known.contains(node); });
}

void add_intersections(std::vector<Access>& ways, const Predicates& predicates, Allowance& allowance) {
  std::vector<size_t> scans;
  for (size_t i = 0; i < ways.size() && scans.size() < scans_max; ++i) {
    if (is_in_record_order(ways[i])) scans.push_back(i);
  }
  const auto served = [&](const Access& a, const Access& b) {
    return std::ranges::any_of(ways, [&](const Access& way) {
      return way.kind == Access::Kind::index && includes(way.bounded, a.bounded, allowance) &&
             includes(way.bounded, b.bounded, allowance);
    });
  };
  std::vector<Access> found;
  for (size_t i = 0; i < scans.size(); ++i) {
    for (size_t j = i + 1; j < scans.size(); ++j) {
      const Access &a = ways[scans[i]], &b = ways[scans[j]];
      if (!served(a, b)) found.push_back(intersection(a, b, predicates));
    }
  }
  for (Access& way : found) ways.push_back(std::move(way));
}

}  // namespace server::query::plan
