// $collStats and $indexStats return statistics of a collection as documents.
#include <unistd.h>

#include "server/core/collection_usage.h"
#include "server/core/command.h"
#include "server/core/command_registry.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/query/series/bucket.h"
#include "server/query/series/bucket_index.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"
#include "server/query/stages/unpack_bucket.h"
#include "server/query/views.h"
#include "storage/store.h"

namespace server::query {

using bson::Element;

namespace {

std::string host(const OperationContext& op) {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  return std::string(name) + ":" + std::to_string(op.services().options.port);
}

std::shared_ptr<storage::Collection> open(const PipelineContext& context) {
  return context.op->services().store->catalog().find(context.db + "." + context.collection);
}

[[noreturn]] void not_found(const PipelineContext& context, const char* stage) {
  refuse(base::ErrorCode::namespace_not_found, std::string("Unable to retrieve ") + stage +
                                                   " in $collStats stage :: caused by :: Collection [" + context.db + "." +
                                                   context.collection + "] not found.");
}

// Returns the collStats command's answer, without the fields that belong to the command alone.
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

// Returns zeros if nobody has used it.
CollectionUsage::Figures use_of(const PipelineContext& context, const storage::Collection* collection) {
  if (!collection) return {};
  return context.op->services().usage.of(context.db, context.collection, collection->id()).value_or(CollectionUsage::Figures());
}

void append_latencies(bson::Builder& out, const CollectionUsage::Figures& used, bool histograms) {
  static constexpr std::pair<const char*, CollectionUsage::Latency> kinds[] = {{"reads", CollectionUsage::Latency::read},
                                                                               {"writes", CollectionUsage::Latency::write},
                                                                               {"commands", CollectionUsage::Latency::command}};
  auto latencies = out.object("latencyStats");
  for (const auto& [name, kind] : kinds) {
    auto one = latencies.object(name);
    used.by_latency[static_cast<size_t>(kind)].append(one, histograms);
  }
  auto transactions = latencies.object("transactions");
  LatencyHistogram().append(transactions, histograms);
}

class CollStats final : public SourceSpec {
 public:
  explicit CollStats(const Element& specification)
      : SourceSpec("$collStats", specification), options_(specification.as_document()) {}
  StagePtr start(StagePtr, PipelineContext& context) const override {
    const auto collection = open(context);
    // A view has latencies alone; a time series has the sizes of its buckets, too.
    const bool sizes = options_.has("storageStats") && !find_series(*context.op, context.db + "." + context.collection);
    if (!collection && (sizes || options_.has("count") || options_.has("queryExecStats")))
      require_no_view(*context.op, context.db + "." + context.collection);
    bson::Builder out;
    out.append("ns", context.db + "." + context.collection).append("host", host(*context.op));
    out.append("localTime", bson::Date{context.scope.now_ms()});
    const CollectionUsage::Figures used = use_of(context, collection.get());
    if (const Element latency = options_["latencyStats"]; latency.exists()) {
      append_latencies(out, used, latency.as_document()["histograms"].truthy());
    }
    if (const Element storage = options_["storageStats"]; storage.exists()) {
      out.append("storageStats", storage_stats(context, storage.as_document()["scale"]));
    }
    if (options_.has("count")) {
      if (!collection) not_found(context, "count");
      out.append("count", collection->record_count());
    }
    if (options_.has("queryExecStats")) {
      if (!collection) not_found(context, "queryExecStats");
      auto scans = out.object("queryExecStats");
      scans.object("collectionScans").append("total", used.scans.total).append("nonTailable", used.scans.non_tailable);
    }
    std::vector<bson::Document> one;
    one.push_back(out.done());
    return std::make_unique<ListStage>(std::move(one));
  }

 private:
  bson::Document options_;
};

class IndexStats final : public SourceSpec, public Describing {
 public:
  explicit IndexStats(const Element& specification) : SourceSpec("$indexStats", specification) {}
  void show(SeriesOptions series) override { series_ = std::move(series); }
  StagePtr start(StagePtr, PipelineContext& context) const override {
    std::vector<bson::Document> documents;
    if (const auto collection = open(context)) {
      const bool hides_id = is_buckets(collection->ns());  // it is clustered, in a way that isn't shown
      for (const auto& index : collection->indexes()) {
        if (hides_id && index->is_id()) continue;
        const bson::Document& stored = index->spec().document;
        const auto shown = series_ ? series_index(*series_, stored) : std::optional(stored);
        if (!shown) continue;
        const storage::IndexStats stats = index->stats();
        bson::Builder out;
        out.append("name", index->spec().name).append("key", shown->view()["key"]).append("host", host(*context.op));
        {
          bson::Builder accesses = out.object("accesses");
          accesses.append("ops", stats.accesses).append("since", bson::Date{stats.since_ms});
        }
        out.append("spec", *shown);
        if (!index->ready()) out.append("building", true);
        documents.push_back(out.done());
      }
    }
    return std::make_unique<ListStage>(std::move(documents));
  }

 private:
  std::optional<SeriesOptions> series_;
};

}  // namespace

namespace {

void check_latency_options(bson::DocumentView options) {
  for (const Element& option : options) {
    if (option.name != "histograms")
      refuse(40415, "BSON field '$collStats.latencyStats." + std::string(option.name) + "' is an unknown field.");
    if (option.type() != bson::Type::boolean) {
      refuse(base::ErrorCode::type_mismatch,
             "BSON field '$collStats.latencyStats.histograms' is the wrong type '" + type_of(option) + "', expected type 'bool'");
    }
  }
}

}  // namespace

StageSpecPtr parse_coll_stats(const Element& specification, PipelineContext&) {
  if (!specification.is_object()) {
    refuse(5447000, "$collStats must take a nested object but found: $collStats: " + type_of(specification));
  }
  for (const Element& field : specification.as_document()) {
    if (field.name != "storageStats" && field.name != "count" && field.name != "latencyStats" && field.name != "queryExecStats") {
      refuse(40415, "BSON field '$collStats." + std::string(field.name) + "' is an unknown field.");
    }
    if (!field.is_object()) {
      refuse(base::ErrorCode::type_mismatch, "BSON field '$collStats." + std::string(field.name) + "' is the wrong type '" +
                                                 type_of(field) + "', expected type 'object'");
    }
    if (field.name == "latencyStats") check_latency_options(field.as_document());
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
