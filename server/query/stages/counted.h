// A pipeline runs for explain with a counter behind each stage.
#pragma once

#include <memory>
#include <vector>

#include "server/query/reader.h"
#include "server/query/stages/stage.h"

namespace server::query {

struct StageFigures {
  int64_t returned = 0;
  int64_t us = 0;  // of this stage and those before it
};

// Runs the stages over the reader's documents to their end. A stage that writes isn't run, and has no figures. Returns the
// figures of those that ran, in their order.
std::vector<StageFigures> run_counted(Reader& reader, const std::vector<StageSpecPtr>& specs, size_t first,
                                      PipelineContext& context);

// Appends what explain shows of a stage behind its specification.
void append_figures(bson::Builder& out, const StageFigures& figures);

}  // namespace server::query
