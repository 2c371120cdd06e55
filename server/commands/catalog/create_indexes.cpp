// createIndexes builds the indexes that don't exist yet.
#include <algorithm>

#include "base/error.h"
#include "server/commands/catalog/commit_quorum.h"
#include "server/commands/shared/collection_options.h"
#include "server/core/arguments.h"
#include "server/core/client_transaction.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/query/reader.h"
#include "server/query/series/bucket_index.h"
#include "server/query/views.h"
#include "server/write/namespaces.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/indexes/index_options.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

// `series`: the indexes are of that time series; nullopt: of a collection.
std::vector<storage::IndexSpec> parse_specs(const Arguments& arguments, const bson::Collator* collator,
                                            const std::optional<query::SeriesOptions>& series) {
  const bool ignore_unknown = arguments.loose_boolean("ignoreUnknownIndexOptions").value_or(false);
  std::vector<storage::IndexSpec> specs;
  std::vector<bson::Document> seen;
  for (const auto& element : arguments.required_array("indexes")) {
    if (!element.is_object()) {
      throw OperationError(ErrorCode::type_mismatch, "BSON field '" + arguments.dotted("indexes") + "." +
                                                         std::string(element.name) + "' is the wrong type '" +
                                                         std::string(bson::type_name(element.type())) +
                                                         "', expected type 'object'");
    }
    const bson::DocumentView given = element.as_document();
    bson::Document known = ignore_unknown ? storage::without_unknown_options(given) : bson::Document(given);
    if (series) known = query::bucket_index(*series, known);
    bson::Document whole = storage::with_default_collation(known, collator);
    specs.push_back(storage::parse_index_spec(whole));
    if (std::any_of(seen.begin(), seen.end(), [&](const auto& other) { return other.bytes() == whole.bytes(); }))
      throw OperationError(ErrorCode::index_already_exists, "Identical index already exists: " + specs.back().name);
    seen.push_back(std::move(whole));
    if (specs.back().name == "_id_") check_id_collation(specs.back(), collator);
  }
  if (specs.empty()) throw OperationError(ErrorCode::bad_value, "Must specify at least one index to create");
  return specs;
}

// Only `create` makes a clustered collection.
void check_may_create(const std::vector<storage::IndexSpec>& specs) {
  for (const storage::IndexSpec& spec : specs) {
    if (spec.document.view().has("clustered"))
      throw OperationError(6100900, "Cannot implicitly create a new collection with createIndex 'clustered' option");
  }
}

// The collection removes its oldest documents by itself.
void check_no_expiry_when_capped(const storage::Collection& collection, const std::vector<storage::IndexSpec>& specs) {
  if (!collection.options().capped) return;
  for (const storage::IndexSpec& spec : specs) {
    if (spec.expire_after_seconds)
      throw OperationError(ErrorCode::cannot_create_index, "Cannot create TTL index on a capped collection");
  }
}

class CreateIndexes : public Command {
 public:
  std::string_view name() const override { return "createIndexes"; }
  std::string_view help() const override { return "Creates one or more indexes on a collection"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"indexes", "commitQuorum", "ignoreUnknownIndexOptions", "v",
                                                 "isTimeseriesNamespace"};
    return names;
  }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }
  bool stable_api() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::allowed; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    std::string ns = request.ns();
    write::check_writable(ns);
    const auto series = query::find_series(op, ns);
    if (series) {
      if (op.in_transaction) {
        throw OperationError(ErrorCode::operation_not_supported_in_transaction,
                             "Cannot create new indexes on a time-series collection in a multi-document transaction: " + ns);
      }
      ns = query::buckets_of(ns);
    } else if (query::is_buckets(ns) && !query::series_of_buckets(op, ns)) {
      throw OperationError(ErrorCode::invalid_namespace, "Invalid system namespace: " + ns);
    }
    query::require_no_view(op, ns);
    const auto quorum = parse_commit_quorum(op, arguments.any("commitQuorum"));
    const auto specs = parse_specs(arguments, query::collator_for(op, ns, std::nullopt).get(), series);
    bool created = false;
    const auto built = op.transaction ? build_in_transaction(op, ns, specs, created) : build(op, ns, specs, created);
    const int hidden = query::is_buckets(ns) ? 1 : 0;  // the one on _id isn't shown
    reply.append("numIndexesBefore", built.before - hidden).append("numIndexesAfter", built.after - hidden);
    if (built.before == built.after) {
      reply.append("note", "all indexes already exist");
    } else {
      reply.append("createdCollectionAutomatically", created);
    }
    if (quorum && built.before != built.after && !op.transaction) await_commit_quorum(op, *quorum);
  }

 private:
  static storage::CreateIndexesResult build(OperationContext& op, const std::string& ns,
                                            const std::vector<storage::IndexSpec>& specs, bool& created) {
    storage::Catalog& catalog = write::store_of(op).catalog();
    auto collection = catalog.find(ns);
    created = !collection;
    if (created) check_may_create(specs);
    if (created) collection = catalog.open_or_create(ns, {.interrupted = op.interrupted()});
    check_no_expiry_when_capped(*collection, specs);
    const auto progress = [&op](int64_t done, int64_t total) {
      op.set_progress(
          {.what = "Index Build: scanning collection Index Build: scanning collection", .done = done, .total = total});
    };
    return catalog.create_indexes(collection, specs,
                                  {.interrupted = op.interrupted(), .replayed = nullptr, .progress = progress});
  }

  static storage::CreateIndexesResult build_in_transaction(OperationContext& op, const std::string& ns,
                                                           const std::vector<storage::IndexSpec>& specs, bool& created) {
    ClientTransaction& transaction = *op.transaction;
    ClientTransaction::Use* use = transaction.open(op, ns);
    created = use == nullptr;
    if (created) check_may_create(specs);
    if (created) use = &transaction.create(op, ns, {});
    check_no_expiry_when_capped(*use->collection, specs);
    return transaction.create_indexes(op, *use, specs);
  }
};

}  // namespace

std::unique_ptr<Command> make_create_indexes_command() {
  return std::make_unique<CreateIndexes>();
}

}  // namespace server
