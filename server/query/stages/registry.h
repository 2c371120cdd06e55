// The registry finds stages by name: each is a file, a line here and a line in
// registry.cpp.
#pragma once

#include <vector>

#include "server/query/stages/stage.h"

namespace server::query {

using StageParser = StageSpecPtr (*)(const bson::Element& specification, PipelineContext& context);

StageSpecPtr parse_across_branches(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_across_snapshots(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_add_fields(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_bucket(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_bucket_auto(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_change_stream(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_split_large_event(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_coll_stats(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_count(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_current_op(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_densify(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_diff(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_documents(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_facet(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_fill(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_graph_lookup(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_group(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_history(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_index_stats(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_list_sessions(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_limit(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_lookup(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_match(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_merge(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_out(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_plan_cache_stats(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_project(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_redact(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_replace_root(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_sample(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_set_window_fields(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_skip(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_sort(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_sort_by_count(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_union_with(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_unpack_bucket(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_unset(const bson::Element& specification, PipelineContext& context);
StageSpecPtr parse_unwind(const bson::Element& specification, PipelineContext& context);

// Returns the parser of a stage `{$name: specification}`. Throws 40323, 40324 "Unrecognized pipeline stage name: '$x'".
StageParser stage_parser(const bson::ValueView& stage);

// Parses it. Throws what `stage_parser` and the stage's parser throw.
StageSpecPtr parse_stage(const bson::ValueView& stage, PipelineContext& context);

// Returns the names of all stages, in order.
std::vector<std::string_view> stage_names();

}  // namespace server::query
