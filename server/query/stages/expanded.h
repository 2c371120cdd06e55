// Some stages are written as several others.
#pragma once

#include <vector>

#include "server/query/stages/stage.h"

namespace server::query {

// Runs the stages one after the other; explain shows `specification`.
StageSpecPtr expand(const bson::Element& specification, std::vector<StageSpecPtr> stages);
StageSpecPtr expand(const bson::Element& specification, const std::vector<bson::Document>& stages, PipelineContext& context);

// Returns {name: value}.
bson::Document wrap(std::string_view name, const bson::ValueView& value);

}  // namespace server::query
