// createIndexes builds the indexes that don't exist yet.
#include "base/error.h"
#include "server/commands/catalog/commit_quorum.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/write/namespaces.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/indexes/index_options.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

std::vector<storage::IndexSpec> parse_specs(const Arguments& arguments) {
  const bool ignore_unknown = arguments.loose_boolean("ignoreUnknownIndexOptions").value_or(false);
  std::vector<storage::IndexSpec> specs;
  for (const auto& element : arguments.required_array("indexes")) {
    if (!element.is_object()) {
      throw OperationError(ErrorCode::type_mismatch, "BSON field '" + arguments.dotted("indexes") + "." +
                                                         std::string(element.name) + "' is the wrong type '" +
                                                         std::string(bson::type_name(element.type())) +
                                                         "', expected type 'object'");
    }
    const bson::DocumentView spec = element.as_document();
    specs.push_back(ignore_unknown ? storage::parse_index_spec(storage::without_unknown_options(spec))
                                   : storage::parse_index_spec(spec));
  }
  if (specs.empty()) throw OperationError(ErrorCode::bad_value, "Must specify at least one index to create");
  return specs;
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

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string ns = request.ns();
    write::check_writable(ns);
    const auto quorum = parse_commit_quorum(op, arguments.any("commitQuorum"));
    const auto specs = parse_specs(arguments);
    storage::Catalog& catalog = write::store_of(op).catalog();
    bool created = false;
    auto collection = catalog.find(ns);
    if (!collection) {
      collection = catalog.open_or_create(ns, {.interrupted = op.interrupted()});
      created = true;
    }
    const auto built = catalog.create_indexes(collection, specs, {.interrupted = op.interrupted()});
    reply.append("numIndexesBefore", built.before).append("numIndexesAfter", built.after);
    if (built.before == built.after) {
      reply.append("note", "all indexes already exist");
    } else {
      reply.append("createdCollectionAutomatically", created);
    }
    if (quorum && built.before != built.after) await_commit_quorum(op, *quorum);
  }
};

}  // namespace

std::unique_ptr<Command> make_create_indexes_command() {
  return std::make_unique<CreateIndexes>();
}

}  // namespace server
