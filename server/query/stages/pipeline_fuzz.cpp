// Any array is taken as a pipeline over two documents, and as an update by a pipeline. It is refused as an operation is, or gives
// valid documents. Stages that write have nothing to write to.
//
// The input is a document, {p: [<stages>]}, and one that runs through it.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/support.h"
#include "server/query/test_support.h"
#include "server/write/update/update.h"

namespace {

using namespace server::query;

constexpr bson::ValidateOptions made{.bytes_max = size_t{1} << 30, .depth_max = 4 * bson::nesting_max};
constexpr int documents_max = 200;

TestServer& server() {
  static TestServer one;
  return one;
}

StagePtr start(const Pipeline& pipeline, bson::DocumentView document) {
  if (!pipeline.empty() && pipeline.specs().front()->is_source()) return pipeline.start();
  return pipeline.start_over(std::make_unique<ListStage>(std::vector{bson::Document(document), bson::json("{_id: 2, a: 7}")}));
}

void check_runs(const Pipeline& pipeline, bson::DocumentView document, ::server::OperationContext& op) {
  const auto running = start(pipeline, document);
  running->begin(op);
  for (int i = 0; i < documents_max && running->next(); ++i) base::check(bson::validate(running->document().bytes(), made).ok());
  running->end();
}

bool check_update(bson::DocumentView stages, bson::DocumentView document, ::server::OperationContext& op) {
  return !base::refuses([&] {
    ::server::write::UpdateOptions options;
    options.op = &op;
    const auto update = ::server::write::Update::parse(bson::Value::array(stages), options, nullptr);
    ::server::write::Application application;
    application.document = document;
    if (const auto after = update->apply(application)) base::check(bson::validate(after->bytes(), made).ok());
  });
}

bool run(base::BytesView input) {
  const auto first = bson::validate(input);
  if (!first.ok() || !first.value()["p"].is_array()) return false;
  const auto second = bson::validate(input.substr(first.value().size()));
  if (!second.ok()) return false;
  const auto stages = first.value()["p"].as_document();
  TestServer::Operation operation(server());
  const bool updates = check_update(stages, second.value(), operation.op);
  PipelineContext context(1'700'000'000'000, &operation.op);
  context.db = "test";
  context.collection = "c";
  context.allow_disk_use = false;
  std::unique_ptr<Pipeline> pipeline;
  if (base::refuses([&] { pipeline = std::make_unique<Pipeline>(stages, context); })) return updates;
  for (const auto& spec : pipeline->specs()) base::check(bson::validate(spec->explain().bytes(), made).ok());
  for (const auto& spec : pipeline->specs()) {
    if (spec->writes()) return true;
  }
  base::refuses([&] { check_runs(*pipeline, second.value(), operation.op); });
  return true;
}

std::vector<base::Bytes> seeds() {
  const auto document =
      bson::json("{_id: 1, a: 5, l: [3, {x: 1}, 'y'], o: {p: 1.5}, d: ISODate('2024-02-29T12:00:00Z')}").bytes();
  std::vector<base::Bytes> all;
  for (const char* one :
       {"{p: [{$match: {a: {$gt: 1}}}, {$project: {a: 1, q: '$o.p'}}]}",
        "{p: [{$unwind: '$l'}, {$group: {_id: '$a', n: {$sum: 1}, l: {$push: '$l'}}}]}",
        "{p: [{$sort: {a: -1}}, {$skip: 1}, {$limit: 1}]}", "{p: [{$set: {b: 1}}, {$unset: 'a'}, {$replaceWith: '$o'}]}",
        "{p: [{$bucket: {groupBy: '$a', boundaries: [0, 6, 9], default: 'x'}}]}",
        "{p: [{$bucketAuto: {groupBy: '$a', buckets: 2}}]}", "{p: [{$facet: {n: [{$count: 'n'}], s: [{$sortByCount: '$a'}]}}]}",
        "{p: [{$lookup: {from: 'c', localField: 'a', foreignField: 'a', as: 'r'}}]}",
        "{p: [{$setWindowFields: {sortBy: {a: 1}, output: {s: {$sum: '$a', window: {documents: [-1, 0]}}}}}]}",
        "{p: [{$densify: {field: 'a', range: {step: 1, bounds: 'full'}}}]}",
        "{p: [{$fill: {sortBy: {a: 1}, output: {b: {method: 'linear'}}}}]}", "{p: [{$documents: [{x: 1}]}, {$redact: '$$KEEP'}]}",
        "{p: [{$graphLookup: {from: 'c', startWith: '$a', connectFromField: 'a', connectToField: 'b', as: 'g'}}]}",
        "{p: [{$unionWith: {coll: 'c', pipeline: [{$match: {}}]}}, {$sample: {size: 1}}]}", "{p: [{$out: 'd'}]}"})
    all.push_back(bson::json(one).bytes() + document);
  return all;
}

const base::FuzzTarget target("pipeline", run, seeds);

}  // namespace
