#include "server/commands/crud/view_query.h"

#include <limits>

#include "base/error.h"
#include "server/commands/crud/explainable.h"
#include "server/core/command.h"
#include "server/core/command_registry.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/expressions/now.h"
#include "server/query/stages/pipeline.h"
#include "server/query/views.h"
#include "storage/collections/collection.h"
#include "storage/engine/names.h"

namespace server {

namespace {

void append_stages(const query::Query& query, bson::ArrayBuilder& stages) {
  const auto add = [&](const char* name, bson::DocumentView value) {
    if (value.empty()) return;
    auto stage = stages.object();
    stage.append(name, value);
  };
  add("$match", query.filter);
  if (!query.sort.view().has("$natural")) add("$sort", query.sort);
  if (query.skip > 0) stages.object().append("$skip", query.skip);
  if (query.limit > 0) stages.object().append("$limit", query.limit);
}

void refuse_options(const query::FindRequest& find, bson::DocumentView body) {
  const std::pair<const char*, bool> unknown[] = {{"min", !find.query.min.empty()},
                                                  {"max", !find.query.max.empty()},
                                                  {"returnKey", find.query.return_key},
                                                  {"showRecordId", find.query.show_record_id},
                                                  {"tailable", find.tailable},
                                                  {"awaitData", find.await_data},
                                                  {"noCursorTimeout", find.no_timeout},
                                                  {"oplogReplay", body["oplogReplay"].truthy()},
                                                  {"allowPartialResults", body["allowPartialResults"].truthy()},
                                                  {"readOnce", body["readOnce"].truthy()}};
  for (const auto& [name, given] : unknown) {
    if (given)
      throw base::OperationError(base::ErrorCode::invalid_pipeline_operator,
                                 "Option " + std::string(name) + " not supported in aggregation.");
  }
}

// Returns the aggregate that the find means.
bson::Document as_aggregate(const Request& request, const query::FindRequest& find) {
  refuse_options(find, request.body);
  query::Query query = find.query;
  int64_t batch = find.batch_size;
  if (find.single_batch) {
    if (batch > 0 && (query.limit == 0 || batch < query.limit)) query.limit = batch;
    batch = std::numeric_limits<int32_t>::max();  // all of it comes at once, so no cursor stays
  }
  bson::Builder out;
  out.append("aggregate", request.collection());
  {
    auto stages = out.array("pipeline");
    append_stages(query, stages);
    if (!query.projection.empty()) stages.object().append("$project", query.projection);
  }
  {
    auto cursor = out.object("cursor");
    cursor.append("batchSize", batch);
  }
  if (query.sort.view().has("$natural"))
    out.append("hint", query.sort);
  else if (query.hint.exists())
    out.append("hint", query.hint);
  for (const char* name :
       {"let", "collation", "allowDiskUse", "maxTimeMS", "comment", "lsid", "txnNumber", "readConcern", "$db"}) {
    if (const auto given = request.body[name]; given.exists()) out.append_element(given);
  }
  return out.done();
}

Request request_of(const Request& outer, bson::DocumentView body) {
  Request request;
  request.command = "aggregate";
  request.db = outer.db;
  request.body = body;
  return request;
}

}  // namespace

bool is_view(OperationContext& op, const std::string& ns, const storage::Collection* found) {
  if (found && !found->moves() && !found->home()) return false;
  return query::find_view(op, ns).has_value();
}

void find_on_view(OperationContext& op, const Request& request, const query::FindRequest& find, bson::Builder& reply) {
  const bson::Document body = as_aggregate(request, find);
  op.services().commands.find("aggregate")->run(op, request_of(request, body), reply);
}

void explain_find_on_view(OperationContext& op, const Request& request, const query::FindRequest& find,
                          query::Verbosity verbosity, bson::Builder& reply) {
  const bson::Document body = as_aggregate(request, find);
  dynamic_cast<Explainable&>(*op.services().commands.find("aggregate")).explain(op, request_of(request, body), verbosity, reply);
}

ViewDocuments::ViewDocuments(OperationContext& op, const query::Query& query, bson::DocumentView last)
    : context_(std::make_unique<query::PipelineContext>(query::command_time_ms(op), &op)) {
  context_->db = storage::database_of(query.ns);
  context_->collection = storage::collection_of(query.ns);
  context_->hint = query.hint;
  if (const auto view = query::find_view(op, query.ns)) context_->set_collator(query::view_collator(*view, query.collation));
  bson::ArrayBuilder stages;
  append_stages(query, stages);
  if (!last.empty()) stages.append(last);
  const bson::Value list = stages.done_value();  // stages borrow nothing from it
  pipeline_ = std::make_unique<query::Pipeline>(list.view().as_document(), *context_);
}

ViewDocuments::~ViewDocuments() = default;

bool ViewDocuments::next() {
  if (!stage_) stage_ = pipeline_->start();
  return stage_->next();
}

bson::DocumentView ViewDocuments::document() {
  return stage_->document();
}

const bson::Collator* ViewDocuments::collator() const {
  return context_->scope.collator().get();
}

void ViewDocuments::explain(query::Verbosity verbosity, bson::Builder& reply) {
  reply.append("explainVersion", "1");
  pipeline_->explain(verbosity, reply);
}

}  // namespace server
