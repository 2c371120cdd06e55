// $collStats and $indexStats: what is known of a collection, as documents.
#include <unistd.h>

#include "server/command.h"
#include "server/command_registry.h"
#include "server/operation.h"
#include "server/options.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"
#include "server/services.h"
#include "storage/engine.h"

namespace server::query {

using bson::Element;

namespace {

std::string host(const OperationContext& op) {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  return std::string(name) + ":" + std::to_string(op.services().options.port);
}

std::shared_ptr<storage::Collection> open(const PipelineContext& context) {
  return context.op->services().engine->catalog().find(context.db + "." + context.collection);
}

[[noreturn]] void not_found(const PipelineContext& context, const char* stage) {
  refuse(base::ErrorCode::namespace_not_found,
         std::string("Unable to retrieve ") + stage + " in $collStats stage :: caused by :: Collection [" + context.db + "." +
             context.collection + "] not found.");
}

// The collStats command's own answer, less what belongs to the command alone.
bson::Document storage_stats(PipelineContext& context, const bson::ValueView& scale) {
  bson::Builder body;
  body.append("collStats", context.collection).append("scale", scale);
  const bson::Document document = body.done();
  Request request;
  request.command = "collStats";
  request.db = context.db;
  request.body = document;
  bson::Builder reply;
  context.op->services().commands.find("collStats")->run(*context.op, request, reply);
  bson::Builder out;
  for (const Element& field : reply.done()) {
    if (field.name != "ns") out.append_element(field);
  }
  return out.done();
}

class CollStats final : public SourceSpec {
 public:
  explicit CollStats(const Element& specification) : SourceSpec("$collStats", specification), options_(specification.as_document()) {}
  StagePtr start(StagePtr, PipelineContext& context) const override {
    const auto collection = open(context);
    bson::Builder out;
    out.append("ns", context.db + "." + context.collection).append("host", host(*context.op));
    out.append("localTime", bson::Date{context.scope.now_ms()});
    if (const Element storage = options_["storageStats"]; storage.exists()) {
      out.append("storageStats", storage_stats(context, storage.as_document()["scale"]));
    }
    if (options_.has("count")) {
      if (!collection) not_found(context, "count");
      out.append("count", collection->record_count());
    }
    std::vector<bson::Document> one;
    one.push_back(out.done());
    return std::make_unique<ListStage>(std::move(one));
  }

 private:
  bson::Document options_;
};

class IndexStats final : public SourceSpec {
 public:
  explicit IndexStats(const Element& specification) : SourceSpec("$indexStats", specification) {}
  StagePtr start(StagePtr, PipelineContext& context) const override {
    std::vector<bson::Document> documents;
    if (const auto collection = open(context)) {
      for (const auto& index : collection->indexes()) {
        const storage::IndexStats stats = index->stats();
        bson::Builder out;
        out.append("name", index->spec().name).append("key", index->spec().key).append("host", host(*context.op));
        {
          bson::Builder accesses = out.object("accesses");
          accesses.append("ops", stats.accesses).append("since", bson::Date{stats.since_ms});
        }
        out.append("spec", index->spec().document);
        if (!index->ready()) out.append("building", true);
        documents.push_back(out.done());
      }
    }
    return std::make_unique<ListStage>(std::move(documents));
  }
};

}  // namespace

StageSpecPtr parse_coll_stats(const Element& specification, PipelineContext&) {
  if (!specification.is_object()) {
    refuse(5447000, "$collStats must take a nested object but found: $collStats: " + type_of(specification));
  }
  for (const Element& field : specification.as_document()) {
    if (field.name != "storageStats" && field.name != "count") {
      if (field.name == "latencyStats" || field.name == "queryExecStats") {
        refuse(base::ErrorCode::command_not_supported, "$collStats with '" + std::string(field.name) + "' is not supported");
      }
      refuse(40415, "BSON field '$collStats." + std::string(field.name) + "' is an unknown field.");
    }
    if (!field.is_object()) {
      refuse(base::ErrorCode::type_mismatch, "BSON field '$collStats." + std::string(field.name) + "' is the wrong type '" +
                                                 type_of(field) + "', expected type 'object'");
    }
  }
  return std::make_unique<CollStats>(specification);
}

StageSpecPtr parse_index_stats(const Element& specification, PipelineContext&) {
  if (!specification.is_object() || !specification.as_document().empty()) {
    refuse(28803, "The $indexStats stage specification must be an empty object");
  }
  return std::make_unique<IndexStats>(specification);
}

}  // namespace server::query
