#include "server/query/plan/merge.h"

#include <algorithm>

#include "server/core/allowance.h"

namespace server::query::plan {

namespace {

constexpr size_t scans_max = 200;
constexpr size_t bytes_max = 16 << 20;

// Returns about how many bytes each scan has: all but the points, and the ranges that belong to them.
size_t bytes_of_part(const Access& access, size_t combinations) {
  size_t bytes = sizeof(Access) + (access.residual.size() + access.bounded.size()) * sizeof(void*);
  for (size_t i = access.points; i < access.fields.size(); ++i) bytes += bytes_of(access.fields[i]);
  return bytes + (bytes_of(access) - bytes) / combinations;
}

// Returns one scan for each combination of the points; nothing if there are too many, if they would have too many bytes together,
// or if there is one alone.
std::vector<Access> explode(const Access& access, Allowance& allowance) {
  size_t combinations = 1;
  for (size_t i = 0; i < access.points && combinations <= scans_max; ++i) combinations *= access.fields[i].size();
  if (combinations < 2 || combinations > scans_max || combinations * bytes_of_part(access, combinations) > bytes_max) return {};
  std::vector<Access> scans(1, access);
  scans.front().branches.clear();
  scans.front().ranges.clear();
  for (size_t i = 0; i < access.points; ++i) {
    std::vector<Access> more;
    for (const Interval& point : access.fields[i]) {
      for (const Access& scan : scans) {
        more.push_back(scan);
        more.back().fields[i] = {point};
      }
    }
    scans = std::move(more);
  }
  for (Access& scan : scans) scan.ranges = key_ranges(*scan.index, scan.fields, allowance).ranges;
  return scans;
}

// Returns whether the sort looks at a field by whose values the scan would be split: parts are merged by the fields behind those.
bool splits_sort(const Access& access, const SortPattern& sort) {
  for (size_t i = 0; i < access.points; ++i) {
    const std::string& path = access.index->spec().fields[i].path;
    const auto same = [&](const SortField& field) { return field.path == path; };
    if (access.fields[i].size() > 1 && std::any_of(sort.fields().begin(), sort.fields().end(), same)) return true;
  }
  return false;
}

}  // namespace

void explode_for_sort(Access& access, const SortPattern& sort, Allowance& allowance) {
  if (access.kind != Access::Kind::index || access.sorted || sort.empty() || access.points == 0 || access.distinct) return;
  if (splits_sort(access, sort)) return;
  std::vector<Access> scans = explode(access, allowance);
  if (scans.empty()) return;
  for (Access& scan : scans) {
    if (!provides_sort(scan, sort, scan.direction)) return;
  }
  access.direction = scans.front().direction;
  access.branches = std::move(scans);
  access.sorted = true;
}

bool merge_branches(Access& access, const SortPattern& sort) {
  if (sort.empty()) return false;
  access.sorted = std::all_of(access.branches.begin(), access.branches.end(),
                              [&](Access& branch) { return provides_sort(branch, sort, branch.direction); });
  return access.sorted;
}

}  // namespace server::query::plan
