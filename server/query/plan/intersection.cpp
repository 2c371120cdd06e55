#include "server/query/plan/intersection.h"

#include <algorithm>

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

bool includes(const Predicates& all, const Predicates& some) {
  return std::all_of(some.begin(), some.end(),
                     [&](const match::Node* node) { return std::find(all.begin(), all.end(), node) != all.end(); });
}

void add_intersections(std::vector<Access>& ways, const Predicates& predicates) {
  std::vector<size_t> scans;
  for (size_t i = 0; i < ways.size() && scans.size() < scans_max; ++i) {
    if (is_in_record_order(ways[i])) scans.push_back(i);
  }
  const auto served = [&](const Access& a, const Access& b) {
    return std::ranges::any_of(ways, [&](const Access& way) {
      return way.kind == Access::Kind::index && includes(way.bounded, a.bounded) && includes(way.bounded, b.bounded);
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
