#include <algorithm>

#include "server/core/names.h"
#include "server/dispatch/rules/rules.h"

namespace server::rules {
namespace {

using bson::DocumentView;
using bson::Element;
using enum Action;

constexpr int depth_max = 100;  // deeper pipelines are refused when they are parsed

// Returns whether the rule looks at fields of such a stage's specification.
bool looks_into(std::string_view stage) {
  static constexpr std::string_view stages[] = {
      "$acrossBranches",    "$acrossSnapshots", "$changeStream", "$currentOp", "$diff", "$graphLookup", "$history",
      "$listLocalSessions", "$listSessions",    "$lookup",       "$merge",     "$out",  "$unionWith"};
  return std::find(std::begin(stages), std::end(stages), stage) != std::end(stages);
}

struct Walk {
  const Asker& asker;
  std::string_view db;
  int depth = 0;

  bool stages(std::string_view on, DocumentView list) {
    if (++depth > depth_max) return false;
    bool allowed = true, first = true;
    for (const auto& stage : list) {
      if (!stage.is_object() || stage.as_document().empty()) continue;  // refused when it is parsed
      allowed = allowed && one(on, stage.as_document().first(), first);
      first = false;
    }
    --depth;
    return allowed;
  }

  bool read(std::string_view from_db, std::string_view collection) {
    return collection.empty() || asker.collection(from_db, collection, {find});
  }

  // {from, pipeline} and its like: $lookup names another database in `from`, $unionWith beside `coll`.
  bool joined(DocumentView spec, std::string_view field) {
    const Element from = spec.find(field), pipeline = spec.find("pipeline");
    std::string_view from_db = db, name;
    if (from.is_string()) name = from.as_string();
    if (const auto other = spec.find("db"); other.is_string() && !other.as_string().empty()) from_db = other.as_string();
    if (from.is_object()) {
      refuse_repeated("$lookup.from", from.as_document());
      const auto other = from.as_document().find("db"), collection = from.as_document().find("coll");
      if (other.is_string()) from_db = other.as_string();
      if (collection.is_string()) name = collection.as_string();
    }
    if (!read(from_db, name)) return false;
    return !pipeline.is_array() || Walk{asker, from_db, depth}.stages(name, pipeline.as_document());
  }

  bool written(const Element& target, const ActionSet& actions) {
    if (target.is_string()) return asker.collection(db, target.as_string(), actions);
    if (!target.is_object()) return true;
    refuse_repeated("$merge.into", target.as_document());
    const auto into_db = target.as_document().find("db"), collection = target.as_document().find("coll");
    return asker.collection(into_db.is_string() ? into_db.as_string() : db,
                            collection.is_string() ? collection.as_string() : std::string_view(), actions);
  }

  bool merged(const Element& spec) {
    ActionSet actions{insert, update};
    if (asker.request().body.find("bypassDocumentValidation").truthy()) actions.add(bypassDocumentValidation);
    if (!spec.is_object()) return written(spec, actions);
    const DocumentView fields = spec.as_document();
    const auto matched = fields.find("whenMatched"), unmatched = fields.find("whenNotMatched");
    const bool changes = !matched.is_string() || (matched.as_string() != "keepExisting" && matched.as_string() != "fail");
    const bool adds = !unmatched.is_string() || unmatched.as_string() == "insert";
    if (!changes) actions.remove({update});
    if (!adds) actions.remove({insert});
    return written(fields.find("into"), actions);
  }

  bool facets(const Element& spec) {
    if (!spec.is_object()) return true;
    bool allowed = true;
    for (const auto& facet : spec.as_document()) allowed = allowed && (!facet.is_array() || stages({}, facet.as_document()));
    return allowed;
  }

  // A stage that looks at several states of the database, by their names.
  bool across(std::string_view on, const Element& spec, std::initializer_list<std::string_view> refs) {
    if (asker.all_states(on, {find})) return true;
    if (!spec.is_object() || refs.size() == 0) return false;
    for (const std::string_view field : refs) {
      const auto ref = spec.as_document().find(field);
      if (!(ref.is_string() ? asker.at_ref(ref.as_string(), on, {find}) : read(db, on))) return false;
    }
    return true;
  }

  bool one(std::string_view on, const Element& stage, bool first) {
    const std::string_view name = stage.name;
    const DocumentView spec = stage.is_object() ? stage.as_document() : DocumentView();
    // The rule must have looked at the field that the stage will read, so it allows none that there may be two of.
    if (looks_into(name)) refuse_repeated(name, spec);
    if (first && name == "$collStats") return asker.collection(db, on, {collStats});
    if (first && name == "$indexStats") return asker.collection(db, on, {indexStats}) || asker.collection(db, on, {collStats});
    if (first && name == "$planCacheStats") return asker.collection(db, on, {planCacheRead});
    if (first && name == "$listSearchIndexes") return asker.collection(db, on, {listSearchIndexes});
    if (first && name == "$currentOp") return !spec.find("allUsers").truthy() || asker.cluster({inprog});
    if (first && (name == "$listSessions" || name == "$listLocalSessions"))
      return (!spec.find("allUsers").truthy() && !spec.has("users")) || asker.cluster({listSessions});
    if (first && name == "$changeStream") {
      if (spec.find("allChangesForCluster").truthy()) return asker.database("", {find, changeStream}) || everywhere();
      return on.empty() ? asker.database(db, {find, changeStream}) : asker.collection(db, on, {find, changeStream});
    }
    if (first && name == "$documents") return true;
    if (first && name == "$diff") return across(on, stage, {"from", "to"});
    if (first && (name == "$acrossBranches" || name == "$history")) return across(on, stage, {});
    if (name == "$acrossSnapshots") {
      const auto pipeline = spec.find("pipeline");
      return across(on, stage, {}) && (!pipeline.is_array() || stages(on, pipeline.as_document()));
    }
    if (first && !read(db, on)) return false;
    if (name == "$lookup" || name == "$graphLookup") return joined(spec, "from");
    if (name == "$unionWith") return stage.is_string() ? read(db, stage.as_string()) : joined(spec, "coll");
    if (name == "$facet") return facets(stage);
    if (name == "$out") {
      ActionSet actions{insert, remove};
      if (asker.request().body.find("bypassDocumentValidation").truthy()) actions.add(bypassDocumentValidation);
      return written(stage, actions);
    }
    if (name == "$merge") return merged(stage);
    return true;
  }

  // A stream of the whole cluster shows every database, so it needs what covers any.
  bool everywhere() const {
    for (const access::Privilege& privilege : asker.authority().privileges.all()) {
      const auto& resource = privilege.resource;
      const bool wide =
          resource.kind == access::ResourcePattern::Kind::any ||
          (resource.kind == access::ResourcePattern::Kind::names && resource.db.empty() && resource.collection.empty());
      if (wide && privilege.actions.has_all({find, changeStream})) return true;
    }
    return false;
  }
};

}  // namespace

bool may_run_pipeline(const Asker& asker, std::string_view db, std::string_view on, bson::DocumentView stages) {
  if (stages.empty()) return on.empty() || asker.collection(db, on, {find});
  return Walk{asker, db}.stages(on, stages);
}

}  // namespace server::rules
