// A pipeline that begins with $text has a score for each document, which {$meta: "textScore"} reads in the stages that keep
// documents apart.
#pragma once

#include "server/query/stages/stage.h"

namespace server::query {

// Gives the pipeline a place for scores if its first stage has $text. It is called before that stage is parsed.
void begin_text_scores(const bson::Element& first, PipelineContext& context);
// Takes the scores from the stages behind one that makes other documents of its input.
void keep_text_scores(const StageSpec& parsed, PipelineContext& context);
// Returns whether a stage reads them.
bool reads_text_scores(const PipelineContext& context);
// Throws 17313 if the stage has $text: only a pipeline's first stage may.
void refuse_text(const StageSpec& stage);

}  // namespace server::query
