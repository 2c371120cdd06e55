#include "server/query/exec/build.h"

#include <algorithm>

#include "server/query/exec/near.h"
#include "server/query/exec/scans.h"
#include "server/query/exec/sort.h"
#include "server/query/exec/stages.h"

namespace server::query::exec {

namespace {

using plan::Access;

// Returns the intervals of field `i` in the order in which the scan meets their values.
plan::Intervals walked(const Access& access, size_t i) {
  plan::Intervals intervals = access.fields[i];
  const bool backward = access.direction == storage::Direction::backward;
  if (access.index->spec().fields[i].descending == backward) return intervals;
  for (plan::Interval& interval : intervals) {
    std::swap(interval.low, interval.high);
    std::swap(interval.low_included, interval.high_included);
  }
  std::reverse(intervals.begin(), intervals.end());
  return intervals;
}

// Adds the two keys between which a scan of one range runs. After the first field that isn't bound to one value come all values
// of the other fields: before or behind the key, as that field's end is included or not.
void add_ends(const Access& access, IndexScanText& text) {
  bson::Builder start, end;
  bool open = false;
  for (size_t i = 0; i < access.fields.size(); ++i) {
    const std::string& path = access.index->spec().fields[i].path;
    const plan::Intervals intervals = walked(access, i);
    if (intervals.size() != 1) return;
    const plan::Interval& interval = intervals.front();
    const auto shown = [&](const bson::Value& value) {
      return access.index->spec().collator ? plan::readable_keys(value) : value;
    };
    start.append(path, shown(open && !text.start_included ? interval.high : interval.low));
    end.append(path, shown(open && !text.end_included ? interval.low : interval.high));
    if (open || access.fields[i].front().is_point()) continue;
    open = true;
    text.start_included = interval.low_included;
    text.end_included = interval.high_included;
  }
  text.start_key = start.done();
  text.end_key = end.done();
}

IndexScanText text_of(const Access& access) {
  IndexScanText text;
  for (size_t i = 0; i < access.fields.size(); ++i) {
    std::vector<std::string> intervals;
    for (const plan::Interval& interval : walked(access, i))
      intervals.push_back(interval.show(access.index->spec().collator != nullptr));
    text.bounds.emplace_back(access.index->spec().fields[i].path, std::move(intervals));
  }
  add_ends(access, text);
  return text;
}

// Returns whether the query needs the document itself, and not only its count.
bool needs_document(const Parts& parts, const Access& access) {
  return !parts.query.count_only || (!parts.sort.empty() && !access.sorted);
}

// A count of the entries between two keys has a stage of its own, whose bounds are these keys.
const char* scan_name(const Parts& parts, const Access& access, bool fetch) {
  if (access.distinct) return "DISTINCT_SCAN";
  return parts.query.count_only && !fetch && access.residual.empty() && access.ranges.size() == 1 ? "COUNT_SCAN" : "IXSCAN";
}

StagePtr build_index_scan(const Parts& parts, const Access& access, bool in_or) {
  const bool covered = !in_or && !access.values.empty();
  const bool fetch = !covered && (in_or || needs_document(parts, access) || !access.residual.empty());
  IndexScan::Options options{.ranges = access.ranges, .direction = access.direction, .distinct = access.distinct};
  if (covered) {
    options.values = access.values;
    options.filter = Filter(access.residual);
  }
  StagePtr scan = std::make_unique<IndexScan>(scan_name(parts, access, fetch), parts.collection, access.index, std::move(options),
                                              text_of(access));
  if (!fetch) return scan;
  return std::make_unique<Fetch>(std::move(scan), parts.collection, Filter(access.residual));
}

StagePtr build_access(const Parts& parts, const Access& access) {
  switch (access.kind) {
    case Access::Kind::nothing: return std::make_unique<Eof>();
    case Access::Kind::collection:
      return std::make_unique<CollectionScan>(parts.collection, access.direction, Filter(access.residual), parts.query.tailable);
    case Access::Kind::id:
      return std::make_unique<IdLookup>(parts.collection, bson::Value(access.id), needs_document(parts, access));
    case Access::Kind::index: return build_index_scan(parts, access, false);
    case Access::Kind::near: return std::make_unique<GeoNear>(parts.collection, access);
    case Access::Kind::any_of: break;
  }
  std::vector<StagePtr> branches;
  for (const Access& branch : access.branches) branches.push_back(build_index_scan(parts, branch, true));
  return std::make_unique<Or>(std::move(branches));
}

}  // namespace

StagePtr build(const Parts& parts, const Access& access) {
  const Query& query = parts.query;
  StagePtr root = build_access(parts, access);
  if (!parts.sort.empty() && !access.sorted && access.kind != Access::Kind::nothing) {
    Sort::Options options;
    options.limit = query.limit != 0 && query.skip < INT64_MAX - query.limit ? query.skip + query.limit : 0;
    options.allow_disk_use = query.allow_disk_use;
    options.temporary_path = parts.temporary_path;
    options.engine = parts.engine;
    root = std::make_unique<Sort>(std::move(root), parts.sort, query.sort, std::move(options), parts.allowance);
  }
  if (query.skip > 0) root = std::make_unique<Skip>(std::move(root), query.skip);
  if (query.limit > 0) root = std::make_unique<Limit>(std::move(root), query.limit);
  if (query.return_key) {
    root = std::make_unique<ReturnKey>(std::move(root), access.kind == Access::Kind::index ? access.index : nullptr);
  } else if (parts.projection && (query.distinct.empty() || !access.values.empty())) {
    root = std::make_unique<Project>(std::move(root), *parts.projection, query.projection, !access.values.empty());
  }
  if (query.show_record_id) root = std::make_unique<ShowRecordId>(std::move(root));
  return root;
}

}  // namespace server::query::exec
