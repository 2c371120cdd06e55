#include "server/query/stages/registry.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "server/core/operation.h"
#include "server/core/stable_api.h"
#include "server/query/stages/geo_near.h"
#include "server/query/stages/search.h"

namespace server::query {

namespace {

const std::unordered_map<std::string_view, StageParser>& stages() {
  static const std::unordered_map<std::string_view, StageParser> parsers = {
      {"$_internalUnpackBucket", parse_unpack_bucket},
      {"$acrossBranches", parse_across_branches},
      {"$acrossSnapshots", parse_across_snapshots},
      {"$addFields", parse_add_fields},
      {"$bucket", parse_bucket},
      {"$bucketAuto", parse_bucket_auto},
      {"$changeStream", parse_change_stream},
      {"$changeStreamSplitLargeEvent", parse_split_large_event},
      {"$collStats", parse_coll_stats},
      {"$count", parse_count},
      {"$currentOp", parse_current_op},
      {"$densify", parse_densify},
      {"$diff", parse_diff},
      {"$documents", parse_documents},
      {"$facet", parse_facet},
      {"$fill", parse_fill},
      {"$geoNear", parse_geo_near},
      {"$graphLookup", parse_graph_lookup},
      {"$group", parse_group},
      {"$history", parse_history},
      {"$indexStats", parse_index_stats},
      {"$limit", parse_limit},
      {"$listLocalSessions", parse_list_sessions},
      {"$listSessions", parse_list_sessions},
      {"$listSearchIndexes", parse_search},
      {"$lookup", parse_lookup},
      {"$match", parse_match},
      {"$merge", parse_merge},
      {"$out", parse_out},
      {"$planCacheStats", parse_plan_cache_stats},
      {"$project", parse_project},
      {"$redact", parse_redact},
      {"$replaceRoot", parse_replace_root},
      {"$replaceWith", parse_replace_root},
      {"$sample", parse_sample},
      {"$search", parse_search},
      {"$searchMeta", parse_search},
      {"$set", parse_add_fields},
      {"$setWindowFields", parse_set_window_fields},
      {"$skip", parse_skip},
      {"$sort", parse_sort},
      {"$sortByCount", parse_sort_by_count},
      {"$unionWith", parse_union_with},
      {"$unset", parse_unset},
      {"$unwind", parse_unwind},
      {"$vectorSearch", parse_search},
  };
  return parsers;
}

}  // namespace

std::vector<std::string_view> stage_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, parse] : stages()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

StageParser stage_parser(const bson::ValueView& stage) {
  if (!stage.is_object()) {
    throw base::OperationError(base::ErrorCode::type_mismatch, "Each element of the 'pipeline' array must be an object");
  }
  const bson::DocumentView fields = stage.as_document();
  if (fields.count() != 1) {
    throw base::OperationError(40323, "A pipeline stage specification object must contain exactly one field.");
  }
  const bson::Element specification = fields.first();
  const auto found = stages().find(specification.name);
  if (found == stages().end()) {
    throw base::OperationError(40324, "Unrecognized pipeline stage name: '" + std::string(specification.name) + "'");
  }
  return found->second;
}

StageSpecPtr parse_stage(const bson::ValueView& stage, PipelineContext& context) {
  const StageParser parse = stage_parser(stage);
  const bson::Element specification = stage.as_document().first();
  if (context.op && context.op->api.strict) check_stable_stage(specification);
  return parse(specification, context);
}

}  // namespace server::query
