#include "server/query/stages/text_scores.h"

#include <algorithm>

#include "server/query/stages/pipeline.h"
#include "server/query/stages/support.h"

namespace server::query {
namespace {

bool has_text(bson::DocumentView filter) {
  for (const bson::Element& part : filter) {
    if (part.name == "$text") return true;
    if (!part.is_array() || (part.name != "$and" && part.name != "$or" && part.name != "$nor")) continue;
    for (const bson::Element& branch : part.as_document()) {
      if (branch.is_object() && has_text(branch.as_document())) return true;
    }
  }
  return false;
}

}  // namespace

void begin_text_scores(const bson::Element& first, PipelineContext& context) {
  if (!first.is_object()) return;
  const bson::Element match = first.as_document().find("$match");
  if (!match.is_object() || !has_text(match.as_document())) return;
  context.text_score = std::make_shared<double>(0);
  context.scope.set_text_score(context.text_score);
}

void keep_text_scores(const StageSpec& parsed, PipelineContext& context) {
  constexpr std::string_view keeping[] = {"$addFields",   "$graphLookup", "$limit", "$lookup", "$match", "$project", "$redact",
                                          "$replaceRoot", "$replaceWith", "$set",   "$skip",   "$sort",  "$unset",   "$unwind"};
  if (std::find(std::begin(keeping), std::end(keeping), parsed.name()) == std::end(keeping))
    context.scope.set_text_score(nullptr);
}

bool reads_text_scores(const PipelineContext& context) {
  // Beside those who read it, the context and its scope have the place.
  return context.text_score && context.text_score.use_count() > (context.scope.text_score() ? 2 : 1);
}

void refuse_text(const StageSpec& stage) {
  const auto* match = dynamic_cast<const Filtering*>(&stage);
  if (match && has_text(match->filter())) refuse(17313, "$match with $text is only allowed as the first pipeline stage");
}

}  // namespace server::query
