// create makes a collection with its options.
#include <array>

#include "base/error.h"
#include "bson/collation.h"
#include "bson/json.h"
#include "server/commands/shared/clustered_options.h"
#include "server/commands/shared/collection_options.h"
#include "server/core/arguments.h"
#include "server/core/client_transaction.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/series/bucket_index.h"
#include "server/query/series/series_arguments.h"
#include "server/query/views.h"
#include "server/write/capped_copy.h"
#include "server/write/namespaces.h"
#include "server/write/target.h"
#include "server/write/views.h"
#include "storage/collections/catalog.h"
#include "storage/collections/clustered.h"
#include "storage/engine/engine_option.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

[[noreturn]] void invalid(const std::string& message) {
  throw OperationError(ErrorCode::invalid_options, message);
}

// These kinds of collection aren't offered; making a plain one instead would be worse than an error.
void refuse_kinds(const Arguments& arguments) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kinds = {{
      {"encryptedFields", "encrypted collections"},
      {"indexOptionDefaults", "defaults of index options"},
  }};
  for (const auto& [name, kind] : kinds) {
    const auto value = arguments.any(name);
    if (!value.exists()) continue;
    if (value.is_object() && (value.as_document().empty() || value.as_document().find("enabled").type() == bson::Type::boolean)) {
      if (value.as_document().empty() || !value.as_document().find("enabled").as_bool()) continue;
    }
    throw OperationError(ErrorCode::command_not_supported, std::string(kind) + " are not supported");
  }
  if (arguments.any("pipeline").exists() && !arguments.any("viewOn").exists())
    invalid("'pipeline' requires 'viewOn' to also be specified");
  const bool clustered = arguments.any(storage::clustered_index_option).is_object();
  if (clustered && arguments.any("viewOn").exists())
    throw OperationError(6026500, "The 'clusteredIndex' option is not supported with views");
  if (arguments.loose_boolean("autoIndexId") == false) {
    if (clustered) throw OperationError(6026501, "The 'clusteredIndex' option does not support {autoIndexId: false}");
    invalid("The autoIndexId option is not allowed in this version: every collection has an index on _id");
  }
}

// mongorestore sends the index that listIndexes has shown. The index on _id has no options, but another index can't have its
// name.
void check_id_index(bson::DocumentView given, const bson::Collator* collator) {
  const storage::IndexSpec spec = storage::parse_index_spec(storage::with_default_collation(given, collator));
  const bson::Element first = spec.key.view().first();
  if (spec.fields.size() == 1 && first.name == "_id" && first.is_number() && first.to_double() == 1)
    return check_id_collation(spec, collator);
  throw OperationError(ErrorCode::bad_value,
                       "The field 'key' for an _id index must be {_id: 1}, but got " + bson::to_shell(spec.key));
}

int64_t positive(const Arguments& arguments, std::string_view name, int64_t least) {
  const auto value = arguments.integer(name);
  if (!value || *value >= least) return value.value_or(0);
  throw OperationError(51024, "BSON field '" + std::string(name) + "' value must be >= " + std::to_string(least) +
                                  ", actual value '" + std::to_string(*value) + "'");
}

storage::CollectionOptions parse_options(const OperationContext& op, const Arguments& arguments, const bson::Collator* collator) {
  storage::CollectionOptions options;
  options.capped = arguments.loose_boolean("capped").value_or(false);
  const auto clustered = parse_clustered_option(arguments, options.capped);
  const auto expiry = parse_expiry_option(arguments, op.services().clock);
  if (expiry && !clustered) {
    invalid("'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified");
  }
  const bool has_size = arguments.any("size").exists();
  const bool has_max = arguments.any("max").exists();
  if (!options.capped && (has_size || has_max)) {
    // Tools send {capped: false, size: 0} for a plain collection.
    const bool empty = arguments.integer("size").value_or(0) == 0 && arguments.integer("max").value_or(0) == 0;
    if (!empty) invalid("the 'capped' field needs to be true when either the 'size' or 'max' fields are present");
  }
  bson::Builder shown;
  if (options.capped) {
    if (!has_size) invalid("the 'size' field is required when 'capped' is true");
    const int64_t size = positive(arguments, "size", 1);
    options.capped_bytes = write::capped_size(size);
    shown.append("capped", true).append("size", options.capped_bytes);
    const int64_t records = arguments.integer("max").value_or(0);
    if (records > INT32_MAX) throw OperationError(ErrorCode::bad_value, "max in a capped collection has to be < 2^31 or not set");
    options.capped_records = std::max<int64_t>(0, records);
    if (options.capped_records > 0) shown.append("max", options.capped_records);
  }
  shown.append_all(parse_validation_options(op, arguments));
  if (const auto dedup = parse_dedup_options(arguments)) shown.append("dedup", *dedup);
  if (const auto commits = parse_commits_options(arguments)) {
    if (options.capped) invalid("a capped collection can't have commits");
    shown.append("commits", *commits);
  }
  if (const auto images = parse_image_options(op, arguments)) shown.append(pre_images_option, *images);
  if (collator) shown.append("collation", collator->specification());
  if (clustered) shown.append(storage::clustered_index_option, *clustered);
  if (expiry) shown.append(storage::expire_after_seconds_option, *expiry);
  options.document = shown.done();
  return options;
}

// A view has no options but its own.
void create_view(OperationContext& op, const Request& request, const Arguments& arguments, std::string_view on,
                 const bson::Collator* collator) {
  static constexpr std::string_view of_collections[] = {
      "capped",        "size",  "max",     "validator",       "validationLevel", "validationAction",
      "storageEngine", "dedup", "commits", pre_images_option, "idIndex"};
  for (const std::string_view name : of_collections) {
    const bson::Element given = arguments.any(name);
    if (given.exists() && (given.truthy() || name == "size" || name == "max"))
      invalid("the options 'viewOn' and '" + std::string(name) + "' cannot both be specified");
  }
  if (op.in_transaction) {
    throw OperationError(ErrorCode::operation_not_supported_in_transaction,
                         "Cannot create a view in a multi-document transaction.");
  }
  write::check_creatable(request.ns());
  if (write::is_system(request.ns()))
    throw OperationError(ErrorCode::invalid_namespace, "Cannot create a view called " + std::string(request.collection()) +
                                                           ": its name is reserved for the system");
  query::View view;
  view.name = request.collection();
  view.on = on;
  if (collator) view.collation = bson::Document(collator->specification());
  if (const auto pipeline = arguments.array("pipeline")) view.pipeline = bson::Document(*pipeline);
  for (const bson::Element& stage : view.pipeline) {
    if (!stage.is_object())
      throw OperationError(ErrorCode::type_mismatch, "Each element of the 'pipeline' array must be an object");
  }
  write::create_view(op, std::string(request.db), view);
}

// Returns the name of the time series. Tools may name the collection of its buckets instead.
std::string series_ns(const Request& request) {
  const std::string ns = request.ns();
  if (!query::is_buckets(ns)) return ns;
  return std::string(request.db) + "." + std::string(query::series_name(ns));
}

void check_series_options(const Request& request, const std::string& ns) {
  static constexpr std::string_view of_others[] = {
      "capped", "size",     "max",  "autoIndexId", "idIndex",        "validator",       "validationLevel", "validationAction",
      "viewOn", "pipeline", "temp", "flags",       "clusteredIndex", "encryptedFields", pre_images_option};
  const bool raw = query::is_buckets(request.ns());
  for (const std::string_view name : of_others) {
    // The options of a collection of buckets, as listCollections shows them, follow from those of the time series.
    if (raw && (name == "validator" || name == "clusteredIndex")) continue;
    if (!request.body.find(name).is_nullish()) invalid(ns + ": 'timeseries' is not allowed with '" + std::string(name) + "'");
  }
}

bson::Document buckets_options(const OperationContext& op, const Request& request, const Arguments& arguments,
                               const bson::Collator* collator) {
  check_series_options(request, series_ns(request));
  const auto given = arguments.object(query::series_option);
  const query::SeriesOptions series = query::parse_series(Arguments(arguments.dotted(query::series_option), *given));
  bson::Builder others;
  if (const auto dedup = parse_dedup_options(arguments)) others.append("dedup", *dedup);
  if (const auto commits = parse_commits_options(arguments)) others.append("commits", *commits);
  if (collator) others.append("collation", collator->specification());
  if (const auto expiry = parse_expiry_option(arguments, op.services().clock))
    others.append(storage::expire_after_seconds_option, *expiry);
  return query::buckets_options(series, others.done());
}

// Throws NamespaceExists, unless the name belongs to a time series with these options.
void check_same_series(OperationContext& op, const std::string& ns, const storage::CollectionOptions& options) {
  const auto view = query::find_view(op, ns);
  if (!view) return;
  const auto existing = view->series ? write::store_of(op).catalog().find(query::buckets_of(ns)) : nullptr;
  if (existing && existing->options().document.bytes() == options.document.bytes()) return;
  if (!existing) write::check_no_view_has(op, ns);
  throw OperationError(ErrorCode::namespace_exists,
                       "namespace " + ns + " already exists, but with different options: " +
                           bson::to_shell(view->series ? view->series->document() : bson::Document()));
}

// A time series is a collection of buckets, with an index by which its measurements find theirs.
void create_series(OperationContext& op, const Request& request, const Arguments& arguments, const bson::Collator* collator) {
  if (op.in_transaction) {
    throw OperationError(ErrorCode::operation_not_supported_in_transaction,
                         "Cannot create a time-series collection in a multi-document transaction.");
  }
  const std::string ns = series_ns(request), buckets = query::buckets_of(ns);
  storage::CollectionOptions options;
  options.document = buckets_options(op, request, arguments, collator);
  write::check_creatable(ns);
  if (write::is_system(ns)) {
    throw OperationError(ErrorCode::invalid_namespace, "Cannot create a time-series collection called " +
                                                           std::string(write::collection_of(ns)) +
                                                           ": its name is reserved for the system");
  }
  write::check_writable(buckets);
  storage::Catalog& catalog = write::store_of(op).catalog();
  if (catalog.find(ns)) {
    throw OperationError(ErrorCode::namespace_exists,
                         "namespace " + ns + " already exists, but is a collection rather than a time series");
  }
  check_same_series(op, ns, options);
  std::shared_ptr<storage::Collection> made;
  try {
    made = catalog.create(buckets, options, {}, {.interrupted = op.interrupted()});
  } catch (const OperationError& error) {
    if (error.code() != ErrorCode::namespace_exists) throw;
    check_same_series(op, ns, options);
    if (!query::find_view(op, ns)) throw;
    return;
  }
  const query::SeriesOptions series = *query::read_series_options(options.document);
  if (series.meta_field.empty()) return;
  const bson::Document index = query::default_index(series);
  catalog.create_indexes(made, {storage::parse_index_spec(storage::with_default_collation(index, collator))},
                         {.interrupted = op.interrupted()});
}

class Create : public Command {
 public:
  std::string_view name() const override { return "create"; }
  std::string_view help() const override {
    return "explicitly creates a collection or view\n{ create: <ns>, capped: <bool>, size: <bytes>, max: <documents>,\n"
           "  dedup: { enabled: <bool>, profile: <string>, key: <field that versions of one thing share> },\n"
           "  commits: { tree: 'posTree' | 'patriciaTrie' | 'bucketTree', buckets: <of a bucketTree> },\n"
           "  clusteredIndex: { key: { _id: 1 }, unique: true, name: <string> }, expireAfterSeconds: <int>,\n"
           "  timeseries: { timeField: <string>, metaField: <string>, granularity: 'seconds' | 'minutes' | 'hours',\n"
           "                bucketMaxSpanSeconds: <int>, bucketRoundingSeconds: <int> } }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"capped",
                                                 "autoIndexId",
                                                 "idIndex",
                                                 "size",
                                                 "max",
                                                 "storageEngine",
                                                 "validator",
                                                 "validationLevel",
                                                 "validationAction",
                                                 "indexOptionDefaults",
                                                 "viewOn",
                                                 "pipeline",
                                                 "collation",
                                                 "changeStreamPreAndPostImages",
                                                 "timeseries",
                                                 "clusteredIndex",
                                                 "expireAfterSeconds",
                                                 "encryptedFields",
                                                 "temp",
                                                 "flags",
                                                 "dedup",
                                                 "commits"};
    return names;
  }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }
  bool stable_api() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::allowed; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Arguments arguments(request);
    refuse_kinds(arguments);
    const bson::CollatorPtr collator = bson::parse_collation(arguments.any("collation")).value_or(nullptr);
    if (const auto id_index = arguments.object("idIndex")) check_id_index(*id_index, collator.get());
    if (const auto store = arguments.object("storageEngine")) storage::check_engine_option(*store);
    if (arguments.object(query::series_option)) return create_series(op, request, arguments, collator.get());
    if (const auto on = arguments.string("viewOn")) return create_view(op, request, arguments, *on, collator.get());
    const auto options = parse_options(op, arguments, collator.get());
    const std::string ns = request.ns();
    write::check_creatable(ns);
    write::check_no_view_has(op, ns);
    storage::Catalog& catalog = write::store_of(op).catalog();
    if (op.transaction) {
      op.transaction->create(op, ns, options);
      return;
    }
    try {
      catalog.create(ns, options, {}, {.interrupted = op.interrupted()});
    } catch (const OperationError& error) {
      if (error.code() != ErrorCode::namespace_exists) throw;
      const auto existing = catalog.open(ns);
      if (!existing) throw;
      check_same(*existing, ns, options);
    }
  }

 private:
  // Creating an existing collection with the same options succeeds.
  static void check_same(const storage::Collection& existing, const std::string& ns, const storage::CollectionOptions& options) {
    if (existing.options().document.bytes() == options.document.bytes()) return;
    bson::Builder shown;
    shown.append("uuid", bson::Binary{4, existing.uuid_bytes()}).append_all(existing.options().document);
    throw OperationError(ErrorCode::namespace_exists,
                         "namespace " + ns + " already exists, but with different options: " + bson::to_shell(shown.done()));
  }
};

}  // namespace

std::unique_ptr<Command> make_create_command() {
  return std::make_unique<Create>();
}

}  // namespace server
