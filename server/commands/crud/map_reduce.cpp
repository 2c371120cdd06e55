// mapReduce calls a client's function for each document, which emits keys with values, and another for the values of each key.
#include <map>

#include "bson/collation.h"
#include "bson/compare.h"
#include "server/commands/crud/view_query.h"
#include "server/core/allowance.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/names.h"
#include "server/core/operation.h"
#include "server/core/reply_size.h"
#include "server/query/find_request.h"
#include "server/query/reader.h"
#include "server/script/engine.h"
#include "server/write/output.h"
#include "storage/collections/catalog.h"
#include "storage/engine/names.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
using bson::Element;
using bson::Value;
using bson::ValueView;

constexpr size_t written_at_once = 500;

struct Target {
  enum class How { in_reply, replace, merge, reduce };
  How how = How::in_reply;
  std::string db, collection;
  bool names_db = false;

  std::string ns() const { return db + "." + collection; }
};

[[noreturn]] void bad(const std::string& message) {
  throw OperationError(ErrorCode::bad_value, message);
}

Target parse_object_target(bson::DocumentView out, Target target) {
  refuse_repeated("mapReduce.out", out);
  if (const Element in_reply = out["inline"]; in_reply.exists()) {
    if (out.count() != 1) throw OperationError(ErrorCode::invalid_options, "'inline' must be specified alone");
    if (!in_reply.is_number() || in_reply.to_double() != 1) bad("'inline' takes only numeric '1'");
    return target;
  }
  static constexpr std::pair<std::string_view, Target::How> modes[] = {
      {"replace", Target::How::replace}, {"merge", Target::How::merge}, {"reduce", Target::How::reduce}};
  for (const Element& field : out) {
    const auto* mode = std::find_if(std::begin(modes), std::end(modes), [&](const auto& one) { return one.first == field.name; });
    if (mode != std::end(modes)) {
      if (!target.collection.empty()) bad("'out' has more than one of 'replace', 'merge' and 'reduce'");
      if (!field.is_string()) bad("'" + std::string(field.name) + "' supports only string arguments");
      target.how = mode->second;
      target.collection = field.as_string();
    } else if (field.name == "db") {
      if (!field.is_string()) bad("db field value must be string");
      target.db = field.as_string();
      target.names_db = true;
    } else if (field.name == "nonAtomic" || field.name == "sharded") {
      if (field.type() != bson::Type::boolean) bad(std::string(field.name) + " field value must be boolean");
      if (field.name == "nonAtomic" && !field.as_bool()) throw OperationError(15895, "nonAtomic field value must be true");
      if (field.name == "sharded" && field.as_bool()) throw OperationError(15920, "Cannot output to a sharded collection");
    } else {
      bad("'out' has the unknown field '" + std::string(field.name) + "'");
    }
  }
  if (target.collection.empty()) bad("'out' requires 'replace', 'merge', 'reduce' or 'inline'");
  return target;
}

Target parse_target(const Arguments& arguments, const std::string& db) {
  const Element out = arguments.any("out");
  Target target;
  target.db = db;
  if (!out.exists()) throw OperationError(40414, "BSON field 'mapReduce.out' is missing but a required field");
  if (out.is_object()) {
    target = parse_object_target(out.as_document(), std::move(target));
  } else if (out.is_string()) {
    target.how = Target::How::replace;
    target.collection = out.as_string();
  } else {
    bad("'out' must be either a string or an object");
  }
  if (target.how == Target::How::in_reply) return target;
  if (!valid_namespace(target.db, target.collection))
    throw OperationError(ErrorCode::invalid_namespace, "Invalid 'out' namespace: " + target.ns());
  const std::string_view itself = std::string_view(target.db).substr(0, target.db.find('@'));
  if (itself == "admin" || itself == "config" || itself == "local")
    throw OperationError(31321, "Can't output to internal database: " + target.db);
  if (target.collection.starts_with("system."))
    throw OperationError(17385, "Can't output to special collection: " + target.collection);
  return target;
}

std::string code_in(const Arguments& arguments, std::string_view name, bool required) {
  const Element given = arguments.any(name);
  if (!given.exists() || given.is_nullish()) {
    if (required) throw OperationError(40414, "BSON field 'mapReduce." + std::string(name) + "' is missing but a required field");
    return {};
  }
  if (given.type() == bson::Type::code_with_scope) return std::string(given.code_with_scope_code());
  auto source = script::source_of(given);
  if (!source) bad("'" + std::string(name) + "' must be of string or code type");
  return *std::move(source);
}

// The functions, in one engine. They see the variables of `scope` and the functions that the database stores in system.js.
class Functions {
 public:
  Functions(OperationContext& op, const Arguments& arguments, const std::string& db) : engine_(&op.allowance()) {
    const std::string stored_ns = db + ".system.js";
    if (const auto stored = query::open_collection(op, stored_ns)) {
      query::Reader reader(op, stored, stored_ns, query::Query{});
      while (reader.next()) {
        const bson::DocumentView one = reader.document();
        if (one["_id"].is_string()) engine_.define(one["_id"].as_string(), one["value"]);
      }
    }
    if (const auto scope = arguments.object("scope")) {
      for (const Element& variable : *scope) engine_.define(variable.name, variable);
    }
    map_ = engine_.compile(code_in(arguments, "map", true));
    reduce_ = engine_.compile(code_in(arguments, "reduce", true));
    if (const std::string source = code_in(arguments, "finalize", false); !source.empty()) finalize_ = engine_.compile(source);
  }

  // Between the two, functions may call `emit`.
  void begin_map(script::Engine::Emit emit) { engine_.define_emit(std::move(emit)); }
  void end_map() { engine_.define("emit", {}); }
  void map(bson::DocumentView document) { engine_.call(map_, {}, document); }
  Value reduce(const ValueView& key, const Value& values) {
    const ValueView arguments[] = {key, values};
    return engine_.call(reduce_, arguments);
  }
  Value finalize(const ValueView& key, Value value) {
    if (!finalize_) return value;
    const ValueView arguments[] = {key, value};
    return engine_.call(*finalize_, arguments);
  }

 private:
  script::Engine engine_;
  script::Engine::Function map_, reduce_;
  std::optional<script::Engine::Function> finalize_;
};

Value list_of(const std::vector<Value>& values) {
  bson::ArrayBuilder list;
  for (const Value& value : values) list.append(value);
  return list.done_value();
}

class MapReduce final : public Command {
 public:
  std::string_view name() const override { return "mapReduce"; }
  std::vector<std::string_view> aliases() const override { return {"mapreduce"}; }
  std::string_view help() const override {
    return "Runs the mapReduce command. See http://dochub.mongodb.org/core/mapreduce for details.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"map",
                                                 "reduce",
                                                 "out",
                                                 "query",
                                                 "sort",
                                                 "collation",
                                                 "limit",
                                                 "scope",
                                                 "finalize",
                                                 "jsMode",
                                                 "bypassDocumentValidation",
                                                 "verbose"};
    return names;
  }
  bool takes_collection() const override { return true; }
  bool takes_read_concern() const override { return true; }
  bool takes_write_concern() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    script::check_enabled();
    for (const std::string_view flag : {"jsMode", "verbose", "bypassDocumentValidation"}) arguments.loose_boolean(flag);
    const Target target = parse_target(arguments, request.db);
    Functions functions(op, arguments, request.db);
    const bson::CollatorPtr collator = query::collator_for(op, request.ns(), bson::parse_collation(arguments.any("collation")));
    Groups groups(op.allowance(), collator.get());
    query::Query query = parse_query(request, arguments);
    query.collation = collator;
    read(op, query, functions, groups);
    if (target.how == Target::How::in_reply)
      answer(groups, functions, reply);
    else
      write(op, target, groups, functions, reply);
  }

 private:
  // Groups has the values by key, in the order of keys.
  struct Groups {
    Groups(Allowance& allowance, const bson::Collator* collator) : values(bson::ValueLess{collator}), held(allowance.memory()) {}
    static constexpr size_t bytes_per_key = 160;                  // a node of the map, with the key and the list of its values
    static constexpr size_t bytes_per_value = 2 * sizeof(Value);  // lists grow to twice what is in them
    std::map<Value, std::vector<Value>, bson::ValueLess> values;
    Held held;
  };

  static query::Query parse_query(const Request& request, const Arguments& arguments) {
    query::Query query;
    query.ns = request.ns();
    query.filter = bson::Document(arguments.object("query").value_or(bson::DocumentView()));
    query.sort = bson::Document(arguments.object("sort").value_or(bson::DocumentView()));
    query.limit = arguments.unsigned_integer("limit").value_or(0);
    return query;
  }

  static void read(OperationContext& op, const query::Query& query, Functions& functions, Groups& groups) {
    auto collection = query::open_collection(op, query.ns);
    if (is_view(op, query.ns, collection.get()))
      throw OperationError(ErrorCode::command_not_supported_on_view, "mapReduce on a view is not yet supported");
    functions.begin_map([&groups](const ValueView& key, const ValueView& value) {
      Value known(key.is_nullish() ? Value::null().view() : key);
      const auto [group, is_new] = groups.values.try_emplace(std::move(known));
      groups.held.add(Groups::bytes_per_value + value.bytes().size() + (is_new ? Groups::bytes_per_key + key.bytes().size() : 0));
      group->second.emplace_back(value);
    });
    query::Reader reader(op, std::move(collection), query.ns, query);
    while (reader.next()) functions.map(reader.document());
    functions.end_map();
  }

  // A lone value needs no reduction.
  static Value reduced(Functions& functions, const Value& key, const std::vector<Value>& values) {
    return values.size() == 1 ? values.front() : functions.reduce(key, list_of(values));
  }

  static bson::Document result(const Value& key, const Value& value) {
    bson::Builder out;
    out.append("_id", key).append("value", value);
    return out.done();
  }

  static void answer(const Groups& groups, Functions& functions, bson::Builder& reply) {
    bson::ArrayBuilder results = reply.array("results");
    for (const auto& [key, values] : groups.values) {
      results.append(result(key, functions.finalize(key, reduced(functions, key, values))));
      check_document_size(results.size());
    }
  }

  static void write(OperationContext& op, const Target& target, const Groups& groups, Functions& functions,
                    bson::Builder& reply) {
    query::OutputPlan plan;
    plan.db = target.db;
    plan.collection = target.collection;
    plan.merge = target.how != Target::How::replace;
    if (plan.merge) {
      plan.on = {"_id"};
      plan.when_matched = query::OutputPlan::WhenMatched::replace;
    }
    const auto sink = write::make_sink(op, plan);
    std::vector<query::OutputDocument> batch;
    const auto write_batch = [&] {
      if (!batch.empty()) sink->write(batch);
      batch.clear();
    };
    for (const auto& [key, values] : groups.values) {
      Value value = reduced(functions, key, values);
      if (target.how == Target::How::reduce) {
        if (const auto before = value_in(op, target.ns(), key)) value = functions.reduce(key, list_of({*before, value}));
      }
      batch.push_back({result(key, functions.finalize(key, std::move(value))), {}});
      check_document_size(batch.back().document.size());
      if (batch.size() == written_at_once) write_batch();
    }
    write_batch();
    sink->finish();
    if (!target.names_db) {
      reply.append("result", target.collection);
      return;
    }
    bson::Builder named = reply.object("result");
    named.append("db", target.db).append("collection", target.collection);
  }

  // Returns the value that the target has for the key.
  static std::optional<Value> value_in(OperationContext& op, const std::string& ns, const Value& key) {
    const auto collection = query::open_present(op, ns);
    if (!collection) return std::nullopt;
    query::Query query;
    query.ns = ns;
    bson::Builder filter;
    {
      bson::Builder equal = filter.object("_id");
      equal.append("$eq", key);
    }
    query.filter = filter.done();
    query::Reader reader(op, collection, ns, query);
    if (!reader.next()) return std::nullopt;
    const Element value = reader.document()["value"];
    return value.exists() ? std::optional<Value>(value) : std::nullopt;
  }
};

}  // namespace

std::unique_ptr<Command> make_map_reduce_command() {
  return std::make_unique<MapReduce>();
}

}  // namespace server
