#include "server/query/stages/counted.h"

#include "base/clock.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server::query {
namespace {

class FromReader final : public Stage {
 public:
  explicit FromReader(Reader& reader) : Stage(nullptr), reader_(reader) {}
  bool next() override { return reader_.next(); }
  bson::DocumentView document() override { return reader_.document(); }
  void begin(OperationContext&) override {}
  void end() override {}

 private:
  Reader& reader_;
};

class Counted final : public Stage {
 public:
  Counted(StagePtr source, StageFigures& figures, base::Clock& clock)
      : Stage(std::move(source)), figures_(figures), clock_(clock) {}
  bool next() override {
    const int64_t begin = clock_.monotonic_us();
    const bool more = source().next();
    figures_.us += clock_.monotonic_us() - begin;
    figures_.returned += more ? 1 : 0;
    return more;
  }
  bson::DocumentView document() override { return source().document(); }

 private:
  StageFigures& figures_;
  base::Clock& clock_;
};

}  // namespace

std::vector<StageFigures> run_counted(Reader& reader, const std::vector<StageSpecPtr>& specs, size_t first,
                                      PipelineContext& context) {
  size_t last = first;
  while (last < specs.size() && !specs[last]->writes()) ++last;
  std::vector<StageFigures> figures(last - first);
  StagePtr stage = std::make_unique<FromReader>(reader);
  for (size_t i = first; i < last; ++i) {
    stage = specs[i]->start(std::move(stage), context);
    stage = std::make_unique<Counted>(std::move(stage), figures[i - first], context.op->services().clock);
  }
  stage->begin(*context.op);
  while (stage->next()) {
  }
  stage->end();
  return figures;
}

void append_figures(bson::Builder& out, const StageFigures& figures) {
  out.append("nReturned", figures.returned).append("executionTimeMillisEstimate", figures.us / 1000);
}

}  // namespace server::query
