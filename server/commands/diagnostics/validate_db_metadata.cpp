// validateDBMetadata lists options of collections and indexes that a version of the Stable API doesn't know.
#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/write/namespaces.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server {
namespace {

constexpr size_t errors_bytes_max = bson::document_bytes_max - (1 << 16);  // further errors are left out, and the reply says so

struct Asked {
  bool strict = false;
  std::optional<std::string_view> db, collection;
};

Asked parse(const Request& request) {
  const Arguments arguments(request);
  const Arguments api(arguments.dotted("apiParameters"), arguments.required_object("apiParameters"));
  api.only({"version", "strict", "deprecationErrors"});
  const bool known = api.required_string("version") == "1";
  Asked asked;
  asked.strict = api.boolean("strict").value_or(false) && known;
  api.boolean("deprecationErrors");
  asked.db = arguments.string("db");
  asked.collection = arguments.string("collection");
  return asked;
}

class Errors {
 public:
  explicit Errors(bson::ArrayBuilder& list) : list_(list) {}

  // Returns false if there is no room for it.
  bool add(const std::string& ns, const std::string& message) {
    bson::Builder error;
    const auto code = base::ErrorCode::api_strict_error;
    error.append("ns", ns)
        .append("code", static_cast<int32_t>(code))
        .append("codeName", base::code_name(code))
        .append("errmsg", message);
    const bson::Document document = error.done();
    bytes_ += document.size();
    if (bytes_ > errors_bytes_max) return false;
    list_.append(document);
    return true;
  }

 private:
  bson::ArrayBuilder& list_;
  size_t bytes_ = 0;
};

// Version 1 has no sparse indexes.
bool check(const storage::Collection& collection, Errors& errors) {
  for (const auto& index : collection.indexes()) {
    if (!index->spec().sparse) continue;
    if (!errors.add(collection.ns(), "The index with name " + index->spec().name + " is not allowed in API version 1."))
      return false;
  }
  return true;
}

class ValidateDBMetadata : public Command {
 public:
  std::string_view name() const override { return "validateDBMetadata"; }
  std::string_view help() const override {
    return "check that what is stored is valid within a version of the Stable API: of a database, of a collection, or "
           "everywhere\n"
           "{ validateDBMetadata: 1, apiParameters: { version: '1', strict: <bool>, deprecationErrors: <bool> }, db: <string>, "
           "collection: <string> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"apiParameters", "db", "collection"};
    return names;
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Asked asked = parse(request);
    bool all = true;
    {
      auto list = reply.array("apiVersionErrors");
      Errors errors(list);
      if (asked.strict) all = check_databases(op, asked, errors);
    }
    if (!all) reply.append("hasMoreErrors", true);
  }

 private:
  static bool check_databases(OperationContext& op, const Asked& asked, Errors& errors) {
    storage::Catalog& catalog = write::store_of(op).catalog();
    std::vector<std::string> databases;
    if (asked.db)
      databases.emplace_back(*asked.db);
    else
      databases = catalog.databases();
    for (const std::string& db : databases) {
      op.check_interrupt();
      for (const auto& collection : catalog.found(db)) {
        if (asked.collection && write::collection_of(collection->ns()) != *asked.collection) continue;
        if (!check(*collection, errors)) return false;
      }
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<Command> make_validate_db_metadata_command() {
  return std::make_unique<ValidateDBMetadata>();
}

}  // namespace server
