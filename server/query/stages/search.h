// $search, $searchMeta, $vectorSearch and $listSearchIndexes need a search engine.
#pragma once

#include "server/query/stages/stage.h"

namespace server::query {

// Refuses the stage, because there is no search engine beside this server. A mongod that isn't part of Atlas answers the same
// (6047401).
StageSpecPtr parse_search(const bson::Element& specification, PipelineContext& context);

}  // namespace server::query
