// The rules of commands that read and write documents.
#include "server/core/names.h"
#include "server/dispatch/rules/rules.h"

namespace server::rules {
namespace {

using enum Action;

bool bypasses(const Asker& asker) {
  return asker.request().body.find("bypassDocumentValidation").truthy();
}

ActionSet writing(const Asker& asker, ActionSet actions) {
  if (bypasses(asker)) actions.add(bypassDocumentValidation);
  return actions;
}

bool reads(const Asker& asker) {
  return asker.target({find});
}

bool aggregates(const Asker& asker) {
  const auto pipeline = asker.request().body.find("pipeline");
  return may_run_pipeline(asker, asker.request().db, asker.named(),
                          pipeline.is_array() ? pipeline.as_document() : bson::DocumentView());
}

bool any_upsert(const Asker& asker) {
  for (const bson::DocumentView one : asker.request().documents("updates")) {
    if (one.find("upsert").truthy()) return true;
  }
  return false;
}

bool updates(const Asker& asker) {
  ActionSet actions = writing(asker, {update});
  if (any_upsert(asker)) actions.add(insert);
  return asker.target(actions);
}

bool finds_and_modifies(const Asker& asker) {
  const auto body = asker.request().body;
  ActionSet actions = writing(asker, {find});
  actions.add(body.find("remove").truthy() ? remove : update);
  if (body.find("upsert").truthy()) actions.add(insert);
  return asker.target(actions);
}

bool writes_in_bulk(const Asker& asker) {
  const std::vector<bson::DocumentView> namespaces = asker.request().documents("nsInfo");
  for (const bson::DocumentView one : asker.request().documents("ops")) {
    const auto kind = one.first();
    const int64_t index = kind.is_number() ? kind.to_int64() : -1;
    if (index < 0 || index >= static_cast<int64_t>(namespaces.size())) continue;  // refused when it is parsed
    const auto ns = namespaces[static_cast<size_t>(index)].find("ns");
    ActionSet actions = writing(asker, {});
    actions.add(kind.name == "insert" ? insert : kind.name == "delete" ? remove : update);
    if (one.find("upsert").truthy()) actions.add(insert);
    if (ns.is_string() && !asker.ns(ns.as_string(), actions)) return false;
  }
  return true;
}

bool explains(const Asker& asker) {
  const auto inner = asker.request().body.first();
  if (!inner.is_object() || inner.as_document().empty()) return true;  // refused when it is parsed
  Request request;
  request.db = asker.request().db;
  request.body = inner.as_document();
  request.command = inner.as_document().first().name;
  // explain knows commands by their other names too. What has no rule can't be explained either.
  std::string_view name = request.command;
  if (name == "findandmodify") name = "findAndModify";
  if (name == "mapreduce") name = "mapReduce";
  const Rule rule = rule_of(name);
  return name != "explain" && rule && rule(Asker(asker.authority(), request));
}

bool maps_and_reduces(const Asker& asker) {
  if (!asker.target({find})) return false;
  const auto out = asker.request().body.find("out");
  if (out.is_string()) return asker.collection(asker.request().db, out.as_string(), writing(asker, {insert, remove}));
  if (!out.is_object()) return true;
  refuse_repeated("mapReduce.out", out.as_document());
  std::string_view db = asker.request().db;
  if (const auto other = out.as_document().find("db"); other.is_string()) db = other.as_string();
  for (const auto& [mode, actions] :
       {std::pair("replace", ActionSet{insert, remove}), std::pair("merge", ActionSet{insert, update}),
        std::pair("reduce", ActionSet{find, insert, update})}) {
    const auto name = out.as_document().find(mode);
    if (name.is_string() && !asker.collection(db, name.as_string(), writing(asker, actions))) return false;
  }
  return true;
}

bool sums_a_file(const Asker& asker) {
  const auto root = asker.text("root");
  return asker.collection(asker.request().db, std::string(root.empty() ? "fs" : root) + ".chunks", {find});
}

constexpr NamedRule list[] = {
    {"aggregate", aggregates},
    {"bulkWrite", writes_in_bulk},
    {"count", reads},
    {"delete", [](const Asker& asker) { return asker.target({remove}); }},
    {"distinct", reads},
    {"explain", explains},
    {"filemd5", sums_a_file},
    {"find", reads},
    {"findAndModify", finds_and_modifies},
    {"getMore", anybody},  // a cursor belongs to who made it (cursor_registry.h)
    {"insert", [](const Asker& asker) { return asker.target(writing(asker, {insert})); }},
    {"killCursors", anybody},  // the same
    {"mapReduce", maps_and_reduces},
    {"planCacheClear", [](const Asker& asker) { return asker.target({planCacheWrite}); }},
    {"planCacheClearFilters", [](const Asker& asker) { return asker.target({planCacheIndexFilter}); }},
    {"planCacheListFilters", [](const Asker& asker) { return asker.target({planCacheIndexFilter}); }},
    {"planCacheSetFilter", [](const Asker& asker) { return asker.target({planCacheIndexFilter}); }},
    {"update", updates},
};

}  // namespace

std::span<const NamedRule> crud_rules() {
  return list;
}

}  // namespace server::rules
