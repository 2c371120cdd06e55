// dropIndexes removes one index by name or key, several by name, or all but that
// on _id.
#include "base/error.h"
#include "bson/json.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/query/series/bucket_index.h"
#include "server/query/views.h"
#include "server/write/namespaces.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/collections/clustered.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

[[noreturn]] void is_id_index(const storage::Collection& collection) {
  if (storage::is_clustered(collection)) throw OperationError(5979800, "It is illegal to drop the clusteredIndex");
  throw OperationError(ErrorCode::invalid_options, "cannot drop _id index");
}

std::string by_name(const storage::Collection& collection, std::string_view name) {
  const auto index = collection.index(name);
  if (!index) throw OperationError(ErrorCode::index_not_found, "index not found with name [" + std::string(name) + "]");
  if (index->is_id()) is_id_index(collection);
  return std::string(name);
}

std::string by_key(const storage::Collection& collection, bson::DocumentView key) {
  std::string found;
  for (const auto& index : collection.indexes()) {
    // 1 and 1.0 are one key, but the fields' order counts.
    if (bson::to_shell(index->spec().key) != bson::to_shell(key) && index->spec().key.bytes() != key.bytes()) continue;
    if (index->is_id()) is_id_index(collection);
    if (!found.empty()) {
      throw OperationError(ErrorCode::ambiguous_index_key_pattern,
                           "more than one index found for key: " + bson::to_shell(key) + ", identify by name instead.");
    }
    found = index->spec().name;
  }
  if (found.empty()) throw OperationError(ErrorCode::index_not_found, "can't find index with key: " + bson::to_shell(key));
  return found;
}

std::vector<std::string> names_of(const storage::Collection& collection, const bson::ValueView& wanted) {
  std::vector<std::string> names;
  if (wanted.is_string() && wanted.as_string() == "*") {
    for (const auto& index : collection.indexes()) {
      if (!index->is_id()) names.push_back(index->spec().name);
    }
  } else if (wanted.is_string()) {
    names.push_back(by_name(collection, wanted.as_string()));
  } else if (wanted.is_object()) {
    names.push_back(by_key(collection, wanted.as_document()));
  } else {
    for (const auto& name : wanted.as_document()) {
      if (!name.is_string()) {
        throw OperationError(ErrorCode::type_mismatch, "BSON field 'dropIndexes.index." + std::string(name.name) +
                                                           "' is the wrong type '" + std::string(bson::type_name(name.type())) +
                                                           "', expected type 'string'");
      }
      names.push_back(by_name(collection, name.as_string()));
    }
  }
  return names;
}

// Returns the index's key as the buckets have it.
bson::Value of_buckets(const query::SeriesOptions& series, const bson::ValueView& wanted) {
  if (!wanted.is_object()) return bson::Value(wanted);
  try {
    return bson::Value(query::bucket_key(series, wanted.as_document()));
  } catch (const OperationError&) {
    throw OperationError(ErrorCode::index_not_found, "can't find index with key: " + bson::to_shell(wanted.as_document()));
  }
}

class DropIndexes : public Command {
 public:
  std::string_view name() const override { return "dropIndexes"; }
  std::vector<std::string_view> aliases() const override { return {"deleteIndexes"}; }
  std::string_view help() const override { return "drop indexes for a collection"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"index", "isTimeseriesNamespace"};
    return names;
  }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }
  bool stable_api() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const bson::Element wanted = request.body.find("index");
    if (wanted.is_nullish()) throw OperationError(40414, "BSON field 'dropIndexes.index' is missing but a required field");
    if (!wanted.is_string() && !wanted.is_object() && !wanted.is_array()) {
      throw OperationError(ErrorCode::type_mismatch, "BSON field 'dropIndexes.index' is the wrong type '" +
                                                         std::string(bson::type_name(wanted.type())) +
                                                         "', expected types '[array, string, object']");
    }
    std::string ns = request.ns();
    write::check_writable(ns);
    const auto series = query::find_series(op, ns);
    if (series) ns = query::buckets_of(ns);
    const bson::Value own = series ? of_buckets(*series, wanted) : bson::Value(wanted);
    storage::Catalog& catalog = write::store_of(op).catalog();
    const auto collection = catalog.find(ns);
    if (!collection) {
      write::check_writable(op, ns);
      throw OperationError(ErrorCode::namespace_not_found, "ns not found " + ns);
    }
    write::check_writable(*collection);
    const int32_t hidden = query::is_buckets(ns) ? 1 : 0;  // the one on _id isn't shown
    const auto before = static_cast<int32_t>(collection->indexes().size()) - hidden;
    for (const auto& name : names_of(*collection, own)) catalog.drop_index(collection, name, {.interrupted = op.interrupted()});
    reply.append("nIndexesWas", before);
    if (wanted.is_string() && wanted.as_string() == "*") reply.append("msg", "non-_id indexes dropped for collection");
  }
};

}  // namespace

std::unique_ptr<Command> make_drop_indexes_command() {
  return std::make_unique<DropIndexes>();
}

}  // namespace server
