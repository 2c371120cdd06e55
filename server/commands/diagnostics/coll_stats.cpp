// collStats shows a collection's counts and sizes.
#include "server/commands/shared/storage_sizes.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/query/views.h"
#include "server/write/target.h"
#include "storage/background/dedup_service.h"
#include "storage/collections/catalog.h"
#include "storage/collections/clustered.h"
#include "storage/store.h"

namespace server {
namespace {

void append_absent(const std::string& ns, int64_t scale, bson::Builder& reply) {
  reply.append("ns", ns).append("size", 0).append("count", 0).append("numOrphanDocs", 0).append("storageSize", 0);
  reply.append("totalSize", 0).append("nindexes", 0).append("totalIndexSize", 0);
  reply.object("indexDetails");
  reply.object("indexSizes");
  append_count(reply, "scaleFactor", scale);
}

void append_indexes(const storage::Store& store, const storage::Collection& collection, int64_t scale, bson::Builder& reply) {
  auto indexes = collection.indexes();
  int64_t total = 0;
  if (query::is_buckets(collection.ns())) {  // it isn't shown, but its file takes space
    std::erase_if(indexes, [&](const auto& index) {
      if (index->is_id()) total += store.engine().file_bytes(index->table().name());
      return index->is_id();
    });
  }
  append_count(reply, "nindexes", static_cast<int64_t>(indexes.size()));
  {
    auto details = reply.object("indexDetails");
    for (const auto& index : indexes) {
      auto shown = details.object(index->spec().name);
      const auto stats = index->stats();
      append_count(shown, "accesses", stats.accesses);
      append_count(shown, "fileBytes", store.engine().file_bytes(index->table().name()));
      append_count(shown, "reusableBytes", store.engine().reusable_bytes(index->table().name()));
    }
  }
  {
    auto building = reply.array("indexBuilds");
    for (const auto& index : indexes) {
      if (!index->ready()) building.append(index->spec().name);
    }
  }
  bson::Builder sizes;
  for (const auto& index : indexes) {
    const int64_t bytes = store.engine().file_bytes(index->table().name());
    append_count(sizes, index->spec().name, bytes / scale);
    total += bytes;
  }
  append_count(reply, "totalIndexSize", total / scale);
  append_count(reply, "totalSize", (sizes_of(store, collection).records_bytes + total) / scale);
  reply.append("indexSizes", sizes.done());
}

void append_series(const std::string& buckets, int64_t count, int64_t bytes, bson::Builder& reply) {
  bson::Builder series = reply.object("timeseries");
  series.append("bucketsNs", buckets);
  append_count(series, "bucketCount", count);
  append_count(series, "avgBucketSize", count > 0 ? bytes / count : 0);
}

class CollStats : public Command {
 public:
  std::string_view name() const override { return "collStats"; }
  std::vector<std::string_view> aliases() const override { return {"collstats"}; }
  std::string_view help() const override {
    return "{ collStats:\"blog.posts\" , scale : 1 } scale divides sizes e.g. for KB use 1024\n    avgObjSize - in bytes";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"scale", "waitForLock", "queryExecStats"};
    return names;
  }
  bool takes_collection() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const int64_t scale = scale_of(Arguments(request));
    const std::string ns = request.ns();
    storage::Store& store = write::store_of(op);
    const bool series = query::find_series(op, ns).has_value();
    const std::string stored = series ? query::buckets_of(ns) : ns;
    const auto collection = store.catalog().find(stored);
    if (!collection) query::require_no_view(op, ns);
    if (!collection) return append_absent(ns, scale, reply);
    const StorageSizes sizes = sizes_of(store, *collection);
    const int64_t bytes = collection->logical_bytes();  // it comes first, because a snapshot counts both with it
    const int64_t count = collection->record_count();
    reply.append("ns", ns);
    append_count(reply, "size", bytes / scale);
    if (series) append_series(stored, count, bytes, reply);
    if (!series) append_count(reply, "count", count);
    if (!series && count > 0) append_count(reply, "avgObjSize", bytes / count);
    reply.append("numOrphanDocs", 0);
    append_count(reply, "storageSize", sizes.records_bytes / scale);
    append_count(reply, "freeStorageSize", sizes.records_free_bytes / scale);
    const auto& options = collection->options();
    reply.append("capped", options.capped);
    if (options.capped) {
      if (options.capped_records > 0) append_count(reply, "max", options.capped_records);
      append_count(reply, "maxSize", options.capped_bytes / scale);
    }
    if (storage::is_clustered(*collection)) reply.append("clustered", true);
    append_indexes(store, *collection, scale, reply);
    append_count(reply, "scaleFactor", scale);
    if (collection->read_only()) return;  // the log names contents and keeps none
    auto dedup = reply.object("dedup");
    store.dedup().append_collection_stats(*collection, dedup);
  }
};

}  // namespace

std::unique_ptr<Command> make_coll_stats_command() {
  return std::make_unique<CollStats>();
}

}  // namespace server
