#include "server/write/ttl_monitor.h"

#include "base/clock.h"
#include "base/log.h"
#include "bson/builder.h"
#include "server/core/metrics.h"
#include "server/core/parameters.h"
#include "server/core/services.h"
#include "server/query/series/bucket.h"
#include "server/write/arrivals.h"
#include "server/write/namespaces.h"
#include "server/write/statements.h"
#include "storage/collections/catalog.h"
#include "storage/collections/clustered.h"
#include "storage/store.h"
#include "versions/database/databases.h"

namespace server::write {

namespace {

// Returns {path: {$lte: then}} together with the index's own filter, so that only documents in the index expire.
bson::Document expired_filter(const storage::IndexSpec& spec, bson::Date then) {
  bson::Builder date;
  date.append("$lte", then);
  bson::Builder by_date;
  by_date.append(spec.fields.front().path, date.done());
  if (spec.partial_filter.empty()) return by_date.done();
  bson::ArrayBuilder both;
  both.append(by_date.done()).append(spec.partial_filter);
  bson::Builder filter;
  filter.append("$and", both.done_value());
  return filter.done();
}

// Buckets that begin before 1970 never expire: an ObjectId can't say when they began.
bson::Document expired_buckets(const query::SeriesOptions& series, bson::Date then) {
  bson::Builder filter;
  filter.object("_id").append("$lte", query::bucket_id_bound(then.ms, true));
  filter.object("control.min." + series.time_field).append("$gte", bson::Date{0});
  filter.object("control.max." + series.time_field).append("$lte", then);
  return filter.done();
}

}  // namespace

TtlMonitor::TtlMonitor(Services& services)
    : services_(services),
      passes_(
          services.clock, "TTLMonitor", [this] { return std::chrono::seconds(sleep_seconds_.load()); },
          [this] {
            if (enabled_) run_pass();
          }) {
  services.parameters.add_boolean("ttlMonitorEnabled", enabled_);
  services.parameters.add_integer("ttlMonitorSleepSecs", sleep_seconds_, {.min = 1, .max = INT32_MAX});
}

int64_t TtlMonitor::run_pass() {
  if (services_.replica_set && !services_.replica_set->writable()) return 0;  // the primary's deletes come through the log
  storage::Catalog& catalog = services_.store->catalog();
  int64_t deleted = 0;
  for (const auto& db : catalog.databases()) {
    // An arrival begins before its first collection is made, so the collections are listed first.
    const auto collections = catalog.collections(db);
    if (is_held_back(db)) continue;
    for (const auto& collection : collections) {
      if (collection->read_only() || collection->options().capped) continue;
      deleted += expire_clustered(*collection);
      for (const auto& index : collection->indexes()) {
        if (!index->ready() || !index->spec().expire_after_seconds || index->spec().fields.size() != 1) continue;
        deleted += expire(*collection, *index, *index->spec().expire_after_seconds);
        if (passes_.stopping()) return deleted;
      }
    }
  }
  services_.metrics.ttl.passes.add();
  return deleted;
}

bool TtlMonitor::is_held_back(const std::string& db) const {
  if (services_.databases && services_.databases->receives_first(db)) return true;
  try {
    return is_arriving(services_, db);
  } catch (const std::exception& error) {
    base::log(base::Severity::warning, base::LogComponent::index, 7100091,
              "Nothing expires in a database, because it can't be read whether its history is coming",
              base::Attributes().add("db", db).add("error", error.what()));
    return true;
  }
}

int64_t TtlMonitor::expire_clustered(const storage::Collection& collection) {
  const bson::Element seconds = collection.options().document[storage::expire_after_seconds_option];
  if (!seconds.is_number() || !storage::is_clustered(collection)) return 0;
  const storage::Index& index = *collection.indexes().front();
  const auto series = query::read_series_options(collection.options().document);
  if (!series) return expire(collection, index, seconds.to_int64());
  return remove(collection, index, expired_buckets(*series, bson::Date{services_.clock.wall_ms() - seconds.to_int64() * 1000}));
}

int64_t TtlMonitor::expire(const storage::Collection& collection, const storage::Index& index, int64_t seconds) {
  return remove(collection, index, expired_filter(index.spec(), bson::Date{services_.clock.wall_ms() - seconds * 1000}));
}

int64_t TtlMonitor::remove(const storage::Collection& collection, const storage::Index& index, const bson::Document& filter) {
  const std::string ns = collection.ns();
  const storage::IndexSpec& spec = index.spec();
  bson::Builder body;
  body.append("delete", collection_of(ns)).append("q", filter);
  try {
    Passes::Operation operation(passes_, services_, std::string(database_of(ns)), body.done());
    OperationContext& op = operation.context();
    op.begin_writing();
    Selection selection;
    selection.filter = filter;
    selection.collation = spec.collator;  // the index's own filter is among the conditions
    selection.all = true;
    const int64_t deleted = run_delete(op, ns, selection).deleted;
    services_.metrics.ttl.deleted_documents.add(deleted);
    return deleted;
  } catch (const std::exception& error) {
    // The next pass tries again; a collection may just have been dropped.
    base::log(base::Severity::warning, base::LogComponent::index, 5400703, "Error running TTL job on collection",
              base::Attributes().add("namespace", ns).add("index", spec.name).add("error", error.what()));
    return 0;
  }
}

}  // namespace server::write
