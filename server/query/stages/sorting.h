// Stages that sort their input have the same memory for it, and go to disk alike.
#pragma once

#include "server/query/exec/sorter.h"
#include "server/query/stages/stage.h"

namespace server::query {

// Returns the options of a sorter that keeps all entries, without their metadata.
exec::Sorter::Options sorter_options(const PipelineContext& context);

}  // namespace server::query
