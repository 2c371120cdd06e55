#include "server/query/stages/expanded.h"

#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

namespace {

class Expanded final : public PlainSpec {
 public:
  Expanded(const bson::Element& specification, std::vector<StageSpecPtr> stages)
      : PlainSpec(specification.name, specification), stages_(std::move(stages)) {}
  StagePtr start(StagePtr source, PipelineContext& context) const override {
    for (const StageSpecPtr& stage : stages_) source = stage->start(std::move(source), context);
    return source;
  }

 private:
  std::vector<StageSpecPtr> stages_;
};

}  // namespace

StageSpecPtr expand(const bson::Element& specification, std::vector<StageSpecPtr> stages) {
  return std::make_unique<Expanded>(specification, std::move(stages));
}

StageSpecPtr expand(const bson::Element& specification, const std::vector<bson::Document>& stages, PipelineContext& context) {
  std::vector<StageSpecPtr> parsed;
  for (const bson::Document& stage : stages) parsed.push_back(parse_stage(bson::Value(stage.view()), context));
  return expand(specification, std::move(parsed));
}

bson::Document wrap(std::string_view name, const bson::ValueView& value) {
  bson::Builder out;
  out.append(name, value);
  return out.done();
}

}  // namespace server::query
