// collMod changes options of an index (hidden, expireAfterSeconds, prepareUnique, unique), and of a collection: its validator,
// the age at which documents of a clustered one expire, the limits of a capped one, dedup and commits' trees.
#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "replication/oplog.h"
#include "server/commands/catalog/index_conversion.h"
#include "server/commands/shared/clustered_options.h"
#include "server/commands/shared/collection_options.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/series/bucket_index.h"
#include "server/query/series/series_arguments.h"
#include "server/query/views.h"
#include "server/write/capped_copy.h"
#include "server/write/target.h"
#include "server/write/views.h"
#include "storage/collections/catalog.h"
#include "storage/collections/clustered.h"
#include "storage/collections/option_changes.h"
#include "storage/indexes/index_options.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

std::shared_ptr<const storage::Index> find_index(const storage::Collection& collection, const Arguments& wanted) {
  const auto name = wanted.string("name");
  const auto key = wanted.object("keyPattern");
  if (!name && !key) throw OperationError(ErrorCode::invalid_options, "Must specify either index name or key pattern.");
  if (name && key) throw OperationError(ErrorCode::invalid_options, "Cannot specify both key pattern and name.");
  auto matching = collection.indexes();
  std::erase_if(matching, [&](const auto& index) {
    return name ? index->spec().name != *name : bson::compare(index->spec().key, *key) != 0;
  });
  if (matching.size() > 1) {
    throw OperationError(ErrorCode::ambiguous_index_key_pattern,
                         "index keyPattern " + bson::to_shell(*key) + " matches " + std::to_string(matching.size()) +
                             " indexes, must use index name. Conflicting indexes:" +
                             bson::to_shell(matching[0]->spec().document) + ", " + bson::to_shell(matching[1]->spec().document));
  }
  if (!matching.empty()) return matching.front();
  throw OperationError(ErrorCode::index_not_found,
                       "cannot find index " + (name ? std::string(*name) : bson::to_shell(*key)) + " for ns " + collection.ns());
}

class CollMod : public Command {
 public:
  std::string_view name() const override { return "collMod"; }
  std::string_view help() const override {
    return "Sets collection options.\nExample: { collMod: 'foo', index: {keyPattern: {a: 1}, expireAfterSeconds: 600} }\n"
           "Example: { collMod: 'foo', index: {name: 'bar', hidden: true} }\n"
           "Example: { collMod: 'foo', index: {name: 'bar', prepareUnique: true} }\n"
           "Example: { collMod: 'foo', index: {name: 'bar', unique: true}, dryRun: true }\n"
           "Example: { collMod: 'foo', dedup: {enabled: true, profile: 'archive', key: 'page'} }\n"
           "Example: { collMod: 'foo', commits: {tree: 'bucketTree', buckets: 1000} }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"index",
                                                 "dedup",
                                                 "commits",
                                                 "validator",
                                                 "validationLevel",
                                                 "validationAction",
                                                 "viewOn",
                                                 "pipeline",
                                                 "expireAfterSeconds",
                                                 "timeseries",
                                                 "recordPreImages",
                                                 "changeStreamPreAndPostImages",
                                                 "cappedSize",
                                                 "cappedMax",
                                                 "dryRun",
                                                 "prepareUnique",
                                                 "isTimeseriesNamespace"};
    return names;
  }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }
  bool stable_api() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    auto index = arguments.object("index");
    const std::pair<std::string_view, std::optional<bson::Document>> wanted[] = {
        {"dedup", parse_dedup_options(arguments)},
        {"commits", parse_commits_options(arguments)},
        {pre_images_option, parse_image_options(op, arguments)}};
    const bson::Document validation = parse_validation_options(op, arguments);
    const FieldNames options = fields().value();
    const bool defines_view = arguments.any("viewOn").exists() || arguments.any("pipeline").exists();
    for (const auto& field : request.body) {
      if (field.name == "viewOn" || field.name == "pipeline") continue;
      const bool other = field.name != "index" && field.name != "dryRun" && field.name != storage::expire_after_seconds_option &&
                         field.name != "dedup" && field.name != "commits" && field.name != pre_images_option &&
                         field.name != storage::capped_size_change && field.name != storage::capped_max_change &&
                         field.name != query::series_option && !validation.view().has(field.name) &&
                         field.name != request.command && !field.is_nullish();
      for (std::string_view name : options) {
        if (!other || field.name != name) continue;
        throw OperationError(ErrorCode::command_not_supported, "collMod's option '" + std::string(name) + "' is not supported");
      }
    }
    std::string ns = request.ns();
    storage::Catalog& catalog = write::store_of(op).catalog();
    const auto series = query::find_series(op, ns);
    bson::Document own_index;
    if (series) {
      check_series_change(request);
      ns = query::buckets_of(ns);
      if (index) own_index = index_of_buckets(*series, *index);
      if (index) index = own_index;
    } else if (!arguments.any(query::series_option).is_nullish()) {
      throw OperationError(ErrorCode::invalid_options, "option only supported on a time-series collection: timeseries");
    }
    const auto collection = catalog.find(ns);
    if (!collection) {
      if (auto view = query::find_view(op, ns)) return change_view(op, request, arguments, std::move(*view));
      write::check_writable(op, ns);
      throw OperationError(ErrorCode::namespace_not_found, "ns does not exist");
    }
    write::check_writable(*collection);
    if (defines_view)
      throw OperationError(ErrorCode::invalid_options, std::string("Option not supported on a collection: ") +
                                                           (arguments.any("viewOn").exists() ? "viewOn" : "pipeline"));
    const bool dry_run = arguments.loose_boolean("dryRun").value_or(false);
    if (dry_run) return try_conversion(op, *collection, request, index);
    const auto expiry = parse_expiry(op, arguments, *collection);
    bson::Builder changes;
    append_limits(arguments, *collection, changes);
    if (expiry) changes.append(storage::expire_after_seconds_option, *expiry);
    if (const auto given = series ? arguments.object(query::series_option) : std::nullopt) {
      const Arguments wanted_series(arguments.dotted(query::series_option), *given);
      changes.append(query::series_option, query::changed_series(*series, wanted_series).document());
    }
    bson::Builder shown;
    for (const auto& [name, value] : wanted) {
      if (!value) continue;
      const bson::Document before(collection->options().document);
      if (name == "commits" && before["capped"].truthy())
        throw OperationError(ErrorCode::invalid_options, "a capped collection can't have commits");
      if (name != pre_images_option) {
        if (before[name].is_object()) shown.append(std::string(name) + "_old", before[name]);
        shown.append(std::string(name) + "_new", *value);
      }
      changes.append(name, *value);
    }
    if (!validation.empty()) changes.append_all(completed(validation, collection->options().document));
    // All but the index has been checked. Its change comes first, so one that is refused leaves nothing behind.
    if (index) change(op, catalog, collection, Arguments("collMod.index", *index), is_alone(request), reply);
    reply.append_all(shown.done());
    // A command that changes nothing is logged too, as MongoDB logs it.
    const bson::Document changed = changes.done();
    if (!index || !changed.view().empty()) catalog.alter_options(collection, changed, {.interrupted = op.interrupted()});
  }

 private:
  static void check_series_change(const Request& request) {
    for (const char* name : {"validator", "validationLevel", "validationAction", "viewOn", "pipeline", "recordPreImages",
                             "changeStreamPreAndPostImages", "cappedSize", "cappedMax"}) {
      if (!request.body.find(name).is_nullish()) {
        throw OperationError(ErrorCode::invalid_options,
                             std::string("option not supported on a time-series collection: ") + name);
      }
    }
  }

  static bson::Document index_of_buckets(const query::SeriesOptions& series, bson::DocumentView index) {
    bson::Builder out;
    for (const auto& field : index) {
      for (const char* name : {"unique", "prepareUnique", "expireAfterSeconds"}) {
        if (field.name == name && !field.is_nullish()) {
          throw OperationError(ErrorCode::invalid_options,
                               std::string("option not supported on a time-series collection: ") + name);
        }
      }
      if (field.name == "keyPattern" && field.is_object())
        out.append("keyPattern", query::bucket_key(series, field.as_document()));
      else
        out.append_element(field);
    }
    return out.done();
  }

  static void change_view(OperationContext& op, const Request& request, const Arguments& arguments, query::View view) {
    for (const char* name : {"index", "dedup", "commits", "validator", "validationLevel", "validationAction",
                             "changeStreamPreAndPostImages", "expireAfterSeconds", "cappedSize", "cappedMax", "dryRun"}) {
      if (arguments.any(name).exists())
        throw OperationError(ErrorCode::invalid_options, std::string("Option not supported on a view: ") + name);
    }
    const auto on = arguments.string("viewOn");
    const auto pipeline = arguments.array("pipeline");
    if (!on && !pipeline) return;
    if (on) view.on = *on;
    if (pipeline) view.pipeline = bson::Document(*pipeline);
    write::change_view(op, std::string(request.db), view);
  }

  // Documents beyond the new limits of a capped collection go with its next insert.
  static void append_limits(const Arguments& arguments, const storage::Collection& collection, bson::Builder& changes) {
    const auto size = arguments.integer(storage::capped_size_change), max = arguments.integer(storage::capped_max_change);
    if (!size && !max) return;
    if (!collection.options().capped) throw OperationError(ErrorCode::invalid_options, "Collection must be capped.");
    if (collection.ns() == replication::oplog_ns) {
      throw OperationError(ErrorCode::invalid_options,
                           "Cannot resize the oplog using this command. Use the 'replSetResizeOplog' command instead.");
    }
    if (size && *size < 1) {
      throw OperationError(static_cast<ErrorCode>(51024),
                           "BSON field 'cappedSize' value must be >= 1, actual value '" + std::to_string(*size) + "'");
    }
    if (max && *max > INT32_MAX)
      throw OperationError(ErrorCode::bad_value, "max in a capped collection has to be < 2^31 or not set");
    if (size) changes.append(storage::capped_size_change, write::capped_size(*size));
    if (max) changes.append(storage::capped_max_change, std::max<int64_t>(0, *max));
  }

  // A change of one option of validation states all three: those that were never given have their defaults.
  static bson::Document completed(bson::DocumentView changed, bson::DocumentView before) {
    bson::Builder out;
    for (const auto& [name, value] :
         {std::pair("validator", bson::Value(bson::DocumentView())), std::pair("validationLevel", bson::Value("strict")),
          std::pair("validationAction", bson::Value("error"))}) {
      const bson::Element given = changed[name], known = before[name];
      out.append(name, given.exists()   ? static_cast<bson::ValueView>(given)
                       : known.exists() ? static_cast<bson::ValueView>(known)
                                        : value.view());
    }
    return out.done();
  }

  // Returns whether the command asks for nothing but `index`.
  static bool is_alone(const Request& request) {
    for (const char* name : {"dedup", "commits", "validator", "validationLevel", "validationAction", "expireAfterSeconds",
                             "changeStreamPreAndPostImages", "cappedSize", "cappedMax"}) {
      if (!request.body.find(name).is_nullish()) return false;
    }
    return true;
  }

  // Returns a number of seconds or "off"; nullopt: the command doesn't ask for it.
  static std::optional<bson::Value> parse_expiry(const OperationContext& op, const Arguments& arguments,
                                                 const storage::Collection& collection) {
    const bson::Element given = arguments.any(storage::expire_after_seconds_option);
    if (given.is_nullish()) return std::nullopt;
    if (!storage::is_clustered(collection)) {
      throw OperationError(ErrorCode::invalid_options,
                           "'expireAfterSeconds' option is only supported on collections clustered by _id");
    }
    if (!given.is_string()) return bson::Value(*parse_expiry_option(arguments, op.services().clock));
    if (given.as_string() == "off") return bson::Value(given);
    throw OperationError(ErrorCode::invalid_options,
                         "Invalid string value for the 'clusteredIndex::expireAfterSeconds' option. Got: '" +
                             std::string(given.as_string()) + "'. Accepted value is 'off'");
  }

  static std::shared_ptr<const storage::Index> changeable_index(const storage::Collection& collection, const Arguments& wanted) {
    const auto index = find_index(collection, wanted);
    if (!storage::is_clustered_index(collection, *index)) return index;
    if (wanted.any("hidden").exists()) throw OperationError(6011800, "The 'hidden' option is not supported for a clusteredIndex");
    throw OperationError(ErrorCode::index_not_found, "cannot find index " + index->spec().name + " for ns " + collection.ns());
  }

  static void check_may_be_unique(const storage::Index& index) {
    if (index.spec().unique || storage::prepares_unique(index.spec())) return;
    throw OperationError(ErrorCode::invalid_options,
                         "Cannot make index unique with 'prepareUnique=false'. Run collMod to set it first.");
  }

  static void try_conversion(OperationContext& op, storage::Collection& collection, const Request& request,
                             const std::optional<bson::DocumentView>& index) {
    if (!index) throw OperationError(ErrorCode::invalid_options, "dry run mode requires an valid index modification.");
    const Arguments wanted("collMod.index", *index);
    wanted.only({"name", "keyPattern", "expireAfterSeconds", "hidden", "unique", "prepareUnique"});
    if (!wanted.loose_boolean("unique").value_or(false))
      throw OperationError(ErrorCode::invalid_options, "dry run mode requires an index modification with unique: true.");
    const bool others =
        wanted.any("hidden").exists() || wanted.any("prepareUnique").exists() || wanted.any("expireAfterSeconds").exists();
    const auto found = changeable_index(collection, wanted);
    check_may_be_unique(*found);
    if (others || !is_alone(request)) {
      throw OperationError(ErrorCode::invalid_options,
                           "unique: true cannot be combined with any other modification in dry run mode.");
    }
    if (!found->spec().unique) check_convertible(op, collection, *found);
  }

  static void change(OperationContext& op, storage::Catalog& catalog, const std::shared_ptr<storage::Collection>& collection,
                     const Arguments& wanted, bool alone, bson::Builder& reply) {
    wanted.only({"name", "keyPattern", "expireAfterSeconds", "hidden", "unique", "prepareUnique"});
    const auto seconds = wanted.integer("expireAfterSeconds");
    const auto hidden = wanted.loose_boolean("hidden");
    const auto unique = wanted.loose_boolean("unique");
    const auto prepare = wanted.loose_boolean("prepareUnique");
    if (!seconds && !hidden && !unique && !prepare) {
      throw OperationError(ErrorCode::invalid_options, "no expireAfterSeconds, hidden, unique, or prepareUnique field");
    }
    const auto index = changeable_index(*collection, wanted);
    if (index->is_id() && (hidden || seconds)) {
      throw OperationError(hidden ? ErrorCode::bad_value : ErrorCode::invalid_options,
                           hidden ? "can't hide _id index" : "the _id field does not support TTL indexes");
    }
    if (unique && !*unique) throw OperationError(ErrorCode::bad_value, "Cannot make index non-unique");
    if (unique) check_may_be_unique(*index);
    if (index->spec().wildcard && (seconds || prepare)) {
      throw OperationError(ErrorCode::invalid_options, seconds
                                                           ? "Index type 'wildcard' cannot be a TTL index"
                                                           : "Index type 'wildcard' does not support the prepareUnique option");
    }
    storage::IndexSpec spec = index->spec();
    const bool prepares = prepare && !spec.unique && !index->is_id() && *prepare != storage::prepares_unique(spec);
    if (prepares && (seconds || hidden || unique || !alone))
      throw OperationError(ErrorCode::invalid_options, "prepareUnique cannot be combined with any other modification.");
    if (seconds && collection->options().capped)
      throw OperationError(ErrorCode::invalid_options, "TTL indexes are not supported for capped collections.");
    if (seconds) set_expiry(spec, *seconds, reply);
    if (hidden) set_hidden(spec, *hidden, reply);
    if (prepares) {
      reply.append("prepareUnique_old", !*prepare).append("prepareUnique_new", *prepare);
      storage::set_prepare_unique(spec, *prepare);
    }
    if (seconds || hidden || prepares || !unique) catalog.alter_index(collection, spec, {.interrupted = op.interrupted()});
    if (unique && !spec.unique && !index->is_id()) make_unique(op, catalog, collection, spec, reply);
  }

  static void make_unique(OperationContext& op, storage::Catalog& catalog, const std::shared_ptr<storage::Collection>& collection,
                          storage::IndexSpec spec, bson::Builder& reply) {
    const auto index = collection->index(spec.name);
    if (index) check_convertible(op, *collection, *index);
    storage::set_unique(spec);
    catalog.alter_index(collection, spec, {.interrupted = op.interrupted()});
    reply.append("unique_new", true);
  }

  static void set_expiry(storage::IndexSpec& spec, int64_t seconds, bson::Builder& reply) {
    if (spec.fields.size() != 1) {
      throw OperationError(ErrorCode::invalid_options,
                           "TTL indexes are single-field indexes, compound indexes do not support TTL");
    }
    if (seconds < 0 || seconds > INT32_MAX) {
      throw OperationError(ErrorCode::invalid_options,
                           "TTL index 'expireAfterSeconds' option must be within an acceptable range, "
                           "try a different value");
    }
    if (spec.expire_after_seconds) reply.append("expireAfterSeconds_old", *spec.expire_after_seconds);
    reply.append("expireAfterSeconds_new", seconds);
    storage::set_expiry(spec, seconds);
  }

  static void set_hidden(storage::IndexSpec& spec, bool hidden, bson::Builder& reply) {
    if (spec.hidden == hidden) return;
    reply.append("hidden_old", spec.hidden).append("hidden_new", hidden);
    storage::set_hidden(spec, hidden);
  }
};

}  // namespace

std::unique_ptr<Command> make_coll_mod_command() {
  return std::make_unique<CollMod>();
}

}  // namespace server
