#include "server/query/exec/build.h"

#include <algorithm>

#include "server/query/exec/scans.h"
#include "server/query/exec/sort.h"
#include "server/query/exec/stages.h"

namespace server::query::exec {

namespace {

using plan::Access;

IndexScanText text_of(const Access& access) {
  IndexScanText text;
  const bool backward = access.direction == storage::Direction::backward;
  for (size_t i = 0; i < access.fields.size(); ++i) {
    const auto& field = access.index->spec().fields[i];
    std::vector<std::string> intervals;
    for (const plan::Interval& interval : access.fields[i]) {
      plan::Interval shown = interval;
      if (field.descending != backward) {
        std::swap(shown.low, shown.high);
        std::swap(shown.low_included, shown.high_included);
      }
      intervals.push_back(shown.show());
    }
    if (field.descending != backward) std::reverse(intervals.begin(), intervals.end());
    text.bounds.emplace_back(field.path, std::move(intervals));
  }
  return text;
}

// The document is wanted for its own sake, not just to be counted.
bool needs_document(const Parts& parts, const Access& access) {
  return !parts.query.count_only || (!parts.sort.empty() && !access.sorted);
}

StagePtr build_index_scan(const Parts& parts, const Access& access, bool in_or) {
  const bool fetch = in_or || needs_document(parts, access) || !access.residual.empty();
  StagePtr scan = std::make_unique<IndexScan>(fetch ? "IXSCAN" : "COUNT_SCAN", parts.collection, access.index, access.ranges,
                                              access.direction, text_of(access));
  if (!fetch) return scan;
  return std::make_unique<Fetch>(std::move(scan), parts.collection, Filter(access.residual));
}

StagePtr build_access(const Parts& parts, const Access& access) {
  switch (access.kind) {
    case Access::Kind::nothing:
      return std::make_unique<Eof>();
    case Access::Kind::collection:
      return std::make_unique<CollectionScan>(parts.collection, access.direction, Filter(access.residual), parts.query.tailable);
    case Access::Kind::id:
      return std::make_unique<IdLookup>(parts.collection, bson::Value(access.id), needs_document(parts, access));
    case Access::Kind::index:
      return build_index_scan(parts, access, false);
    case Access::Kind::any_of:
      break;
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
    root = std::make_unique<Sort>(std::move(root), parts.sort, query.sort, std::move(options));
  }
  if (query.skip > 0) root = std::make_unique<Skip>(std::move(root), query.skip);
  if (query.limit > 0) root = std::make_unique<Limit>(std::move(root), query.limit);
  if (query.return_key) {
    root = std::make_unique<ReturnKey>(std::move(root), access.kind == Access::Kind::index ? access.index : nullptr);
  } else if (parts.projection) {
    root = std::make_unique<Project>(std::move(root), *parts.projection, query.projection);
  }
  if (query.show_record_id) root = std::make_unique<ShowRecordId>(std::move(root));
  return root;
}

}  // namespace server::query::exec
