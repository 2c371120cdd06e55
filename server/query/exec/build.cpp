#include "server/query/exec/build.h"

#include <algorithm>
#include <unordered_set>

#include "bson/keystring.h"
#include "server/query/exec/and_sorted.h"
#include "server/query/exec/clustered_scan.h"
#include "server/query/exec/metadata.h"
#include "server/query/exec/near.h"
#include "server/query/exec/scans.h"
#include "server/query/exec/sort.h"
#include "server/query/exec/sort_merge.h"
#include "server/query/exec/stages.h"
#include "server/query/exec/text.h"
#include "server/query/match/comparison.h"
#include "storage/collections/clustered.h"

namespace server::query::exec {

namespace {

using plan::Access;

// Returns whether the keys have sort keys for the strings of field `i`. Paths in the keys of a wildcard index are as they are.
bool is_collated(const Access& access, size_t i) {
  return access.index->spec().collator && access.index->spec().fields[i].kind != storage::FieldKind::opaque;
}

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
  if (std::ranges::any_of(access.fields, [](const plan::Intervals& intervals) { return intervals.size() != 1; })) return;
  bson::Builder start, end;
  bool open = false;
  for (size_t i = 0; i < access.fields.size(); ++i) {
    const std::string& path = access.index->spec().fields[i].path;
    const plan::Intervals intervals = walked(access, i);
    const plan::Interval& interval = intervals.front();
    const auto shown = [&](const bson::Value& value) { return is_collated(access, i) ? plan::readable_keys(value) : value; };
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

IndexScanText text_of(const Parts& parts, const Access& access) {
  IndexScanText text;
  for (size_t i = 0; i < access.fields.size(); ++i) {
    std::vector<std::string> intervals;
    for (const plan::Interval& interval : walked(access, i)) {
      intervals.push_back(interval.show(is_collated(access, i)));
      parts.allowance.work_on(intervals.back().size());
    }
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

bool gives_low_end(const match::Node* node) {
  using match::Kind;
  const Kind kind = node->kind();
  return kind == Kind::eq || kind == Kind::gt || kind == Kind::gte || kind == Kind::in;
}

bool gives_high_end(const match::Node* node) {
  using match::Kind;
  const Kind kind = node->kind();
  return kind == Kind::eq || kind == Kind::lt || kind == Kind::lte || kind == Kind::in;
}

// Returns the ends of a clustered scan: those that the filter or min and max give.
ClusteredScanText clustered_text(const Parts& parts, const Access& access) {
  ClusteredScanText text;
  const auto shown = [&](const bson::ValueView& value) {
    return access.index->spec().collator ? plan::readable_keys(value) : bson::Value(value);
  };
  const plan::Intervals& intervals = access.fields.front();
  if (!intervals.empty()) {
    const auto any = [&](bool (*gives)(const match::Node*)) {
      return std::any_of(access.bounded.begin(), access.bounded.end(), gives);
    };
    if (any(gives_low_end)) text.low = shown(intervals.front().low.view());
    if (any(gives_high_end)) text.high = shown(intervals.back().high.view());
  }
  if (!parts.query.min.empty()) text.low = bson::Value(parts.query.min.view().first());
  if (!parts.query.max.empty()) text.high = bson::Value(parts.query.max.view().first());
  return text;
}

StagePtr build_clustered_scan(const Parts& parts, const Access& access, bool in_or) {
  const bool fetch = in_or || needs_document(parts, access) || !access.residual.empty();
  plan::Predicates shown = access.bounded;
  std::unordered_set<const match::Node*> known(shown.begin(), shown.end());
  for (const match::Node* node : access.residual) {
    if (known.insert(node).second) shown.push_back(node);
  }
  auto entries =
      std::make_unique<IndexScan>("IXSCAN", parts.collection, access.index,
                                  IndexScan::Options{.ranges = access.ranges, .direction = access.direction}, IndexScanText());
  return std::make_unique<ClusteredScan>(
      parts.collection, std::move(entries),
      ClusteredScan::Options{
          .direction = access.direction, .fetch = fetch, .filter = Filter(access.residual), .shown = Filter(shown)},
      clustered_text(parts, access));
}

// Returns the bytes before the part of the keys that is in the order of the sort.
size_t prefix_bytes(const Access& access) {
  bson::KeyString prefix;
  for (size_t i = 0; i < access.points; ++i)
    prefix.append(access.fields[i].front().low, access.index->spec().fields[i].descending);
  return std::move(prefix).bytes().size();
}

// Scans parts of an index's bounds, and merges what they return.
StagePtr build_merged_scans(const Parts& parts, const Access& access) {
  const bool covered = !access.values.empty();
  std::vector<StagePtr> scans;
  std::vector<size_t> prefixes;
  for (const Access& part : access.branches) {
    IndexScan::Options options{.ranges = part.ranges, .direction = part.direction};
    if (covered) {
      options.values = access.values;
      options.filter = Filter(access.residual);
    }
    scans.push_back(
        std::make_unique<IndexScan>("IXSCAN", parts.collection, part.index, std::move(options), text_of(parts, part)));
    prefixes.push_back(prefix_bytes(part));
  }
  auto merge = std::make_unique<SortMerge>(
      std::move(scans), parts.query.sort,
      [prefixes](Stage& scan, size_t number) {
        return bson::Bytes(scan.key().substr(std::min(prefixes[number], scan.key().size())));
      },
      access.direction == storage::Direction::backward);
  const bool fetch = !covered && (needs_document(parts, access) || !access.residual.empty());
  if (!fetch) return merge;
  return std::make_unique<Fetch>(std::move(merge), parts.collection, Filter(access.residual));
}

StagePtr build_index_scan(const Parts& parts, const Access& access, bool in_or) {
  if (!access.branches.empty()) return build_merged_scans(parts, access);
  if (storage::is_clustered_index(*parts.collection, *access.index)) return build_clustered_scan(parts, access, in_or);
  const bool covered = !in_or && !access.values.empty();
  const bool fetch = !covered && (in_or || needs_document(parts, access) || !access.residual.empty());
  IndexScan::Options options{.ranges = access.ranges, .direction = access.direction, .distinct = access.distinct};
  if (covered) {
    options.values = access.values;
    options.filter = Filter(access.residual);
  }
  StagePtr scan = std::make_unique<IndexScan>(scan_name(parts, access, fetch), parts.collection, access.index, std::move(options),
                                              text_of(parts, access));
  if (!fetch) return scan;
  return std::make_unique<Fetch>(std::move(scan), parts.collection, Filter(access.residual));
}

StagePtr build_intersection(const Parts& parts, const Access& access) {
  std::vector<StagePtr> scans;
  for (const Access& branch : access.branches) {
    scans.push_back(std::make_unique<IndexScan>("IXSCAN", parts.collection, branch.index,
                                                IndexScan::Options{.ranges = branch.ranges, .direction = branch.direction},
                                                text_of(parts, branch)));
  }
  return std::make_unique<Fetch>(std::make_unique<AndSorted>(std::move(scans)), parts.collection, Filter(access.residual));
}

StagePtr build_text(const Parts& parts, const Access& access) {
  std::vector<StagePtr> scans;
  for (const storage::KeyRange& range : access.ranges) {
    scans.push_back(std::make_unique<IndexScan>("IXSCAN", parts.collection, access.index,
                                                IndexScan::Options{.ranges = {range}, .direction = access.direction},
                                                IndexScanText{}));
  }
  StagePtr found;
  if (scans.empty()) {
    found = std::make_unique<Eof>();  // there are only stop words, and what must not occur
  } else if (parts.metadata && parts.metadata->wants(MetaField::text_score)) {
    found = std::make_unique<TextOr>(std::move(scans), parts.collection, access.terms, *parts.metadata, parts.allowance);
  } else {
    StagePtr records = scans.size() == 1 ? std::move(scans.front()) : std::make_unique<Or>(std::move(scans));
    found = std::make_unique<Fetch>(std::move(records), parts.collection, Filter());
  }
  StagePtr match = std::make_unique<TextMatch>(std::move(found), access);
  if (access.residual.empty()) return match;
  return std::make_unique<FilterFetched>(std::move(match), Filter(access.residual));
}

// A clustered scan has no keys, as a scan of a collection has none.
bool has_keys(const Parts& parts, const Access& access) {
  return access.kind == Access::Kind::index && !storage::is_clustered_index(*parts.collection, *access.index);
}

StagePtr build_access(const Parts& parts, const Access& access) {
  switch (access.kind) {
    case Access::Kind::nothing: return std::make_unique<Eof>();
    case Access::Kind::collection:
      return std::make_unique<CollectionScan>(parts.collection, access.direction, Filter(access.residual), parts.query.tailable,
                                              parts.query.changes);
    case Access::Kind::id:
      return std::make_unique<IdLookup>(parts.collection, bson::Value(access.id), needs_document(parts, access));
    case Access::Kind::index: return build_index_scan(parts, access, false);
    case Access::Kind::text: return build_text(parts, access);
    case Access::Kind::all_of: return build_intersection(parts, access);
    case Access::Kind::near:
      return std::make_unique<GeoNear>(parts.collection, access, parts.query.near_output, parts.metadata, parts.allowance);
    case Access::Kind::any_of: break;
  }
  std::vector<StagePtr> branches;
  for (const Access& branch : access.branches) {
    branches.push_back(branch.kind == Access::Kind::text ? build_text(parts, branch) : build_index_scan(parts, branch, true));
    if (parts.metadata && !access.sorted) write_index_key(*branches.back(), parts, branch);
  }
  if (!access.sorted) return std::make_unique<Or>(std::move(branches));
  return std::make_unique<SortMerge>(
      std::move(branches), parts.query.sort,
      [&sort = parts.sort, &allowance = parts.allowance](Stage& branch, size_t) {
        return sort.key(branch.document(), &allowance);
      },
      false);
}

}  // namespace

StagePtr build(const Parts& parts, const Access& access) {
  const Query& query = parts.query;
  StagePtr root = build_access(parts, access);
  if (parts.metadata) write_metadata(*root, parts, access);
  if (!parts.sort.empty() && !access.sorted && access.kind != Access::Kind::nothing) {
    Sorter::Options options;
    options.limit = query.limit != 0 && query.skip < INT64_MAX - query.limit ? query.skip + query.limit : 0;
    options.allow_disk_use = query.allow_disk_use;
    options.engine = parts.engine;
    options.memory_bytes_max = parts.sort_bytes_max;
    options.metadata = parts.metadata;
    root = std::make_unique<Sort>(std::move(root), parts.sort, query.sort, options, parts.allowance);
  }
  if (query.skip > 0) root = std::make_unique<Skip>(std::move(root), query.skip);
  if (query.limit > 0) root = std::make_unique<Limit>(std::move(root), query.limit);
  if (query.return_key) {
    root = std::make_unique<ReturnKey>(std::move(root), has_keys(parts, access) ? access.index : nullptr);
  } else if (parts.projection && (query.distinct.empty() || !access.values.empty())) {
    root = std::make_unique<Project>(std::move(root), *parts.projection, query.projection, !access.values.empty(),
                                     parts.allowance.memory());
  }
  if (query.show_record_id) root = std::make_unique<ShowRecordId>(std::move(root));
  return root;
}

}  // namespace server::query::exec
