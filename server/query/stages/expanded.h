// Stages that are written as others.
#pragma once

#include <vector>

#include "server/query/stages/stage.h"

namespace server::query {

// Runs them one behind the other; explain shows `specification`.
StageSpecPtr expand(const bson::Element& specification, std::vector<StageSpecPtr> stages);
StageSpecPtr expand(const bson::Element& specification, const std::vector<bson::Document>& stages, PipelineContext& context);

// {name: value}
bson::Document wrap(std::string_view name, const bson::ValueView& value);

}  // namespace server::query
