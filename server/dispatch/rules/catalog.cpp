// The rules of commands that change or show collections and indexes.
#include "server/dispatch/rules/rules.h"

namespace server::rules {
namespace {

using enum Action;

// A user who defines a view must be able to read what it will show. A pipeline may change without the collection that it begins
// with.
bool may_define_view(const Asker& asker) {
  const auto body = asker.request().body;
  const auto on = body.find("viewOn"), pipeline = body.find("pipeline");
  return (!on.is_string() && !pipeline.is_array()) ||
         may_run_pipeline(asker, asker.request().db, on.is_string() ? on.as_string() : std::string_view(),
                          pipeline.is_array() ? pipeline.as_document() : bson::DocumentView());
}

// A user who may insert may also create the collection that the insert would create.
bool creates(const Asker& asker) {
  const auto body = asker.request().body;
  ActionSet actions{createCollection};
  if (body.find("capped").truthy()) actions.add(convertToCapped);
  if (!asker.target(actions) && (body.find("capped").truthy() || !asker.target({insert}))) return false;
  return may_define_view(asker);
}

bool changes(const Asker& asker) {
  return asker.shared_target({collMod}) && may_define_view(asker);
}

bool renames(const Asker& asker) {
  const std::string_view from = asker.named(), to = asker.text("to");
  const std::string_view from_db = from.substr(0, from.find('.')), to_db = to.substr(0, to.find('.'));
  const bool drops = asker.request().body.find("dropTarget").truthy();
  if (from_db == to_db) {
    ActionSet target{};
    if (drops) target.add(dropCollection);
    // The documents can be read under the new name by who may read that one, so a rename mustn't show what its caller couldn't
    // see.
    const bool shows_no_more = asker.ns(from, {find}) || !asker.ns(to, {find});
    if (shows_no_more && asker.ns(from, {renameCollectionSameDB}) && asker.ns(to, {renameCollectionSameDB}) &&
        asker.ns(to, target))
      return true;
  }
  ActionSet target{insert, createIndex};
  if (drops) target.add(dropCollection);
  return asker.ns(from, {find, dropCollection}) && asker.ns(to, target);
}

bool clones_as_capped(const Asker& asker) {
  return asker.target({find}) &&
         asker.collection(asker.request().db, asker.text("toCollection"), {insert, createIndex, convertToCapped});
}

// Everybody may have the names of what he may use.
bool lists_collections(const Asker& asker) {
  const auto body = asker.request().body;
  return asker.database({listCollections}) || (body.find("nameOnly").truthy() && body.find("authorizedCollections").truthy());
}

// A user who may not list all of them is shown those that he may use.
bool lists_databases(const Asker& asker) {
  const auto only = asker.request().body.find("authorizedDatabases");
  return asker.cluster({listDatabases}) || !only.exists() || only.truthy();
}

constexpr NamedRule list[] = {
    {"cloneCollectionAsCapped", clones_as_capped},
    {"collMod", changes},
    {"compact", [](const Asker& asker) { return asker.shared_target({compact}); }},
    {"convertToCapped", [](const Asker& asker) { return asker.shared_target({convertToCapped}); }},
    {"create", creates},
    {"createIndexes", [](const Asker& asker) { return asker.shared_target({createIndex}); }},
    {"createSearchIndexes", [](const Asker& asker) { return asker.target({createSearchIndexes}); }},
    {"drop", [](const Asker& asker) { return asker.target({dropCollection}); }},
    {"dropDatabase", [](const Asker& asker) { return asker.database({dropDatabase}); }},
    {"dropIndexes", [](const Asker& asker) { return asker.shared_target({dropIndex}); }},
    {"dropSearchIndex", [](const Asker& asker) { return asker.target({dropSearchIndex}); }},
    {"listCollections", lists_collections},
    {"listDatabases", lists_databases},
    {"listIndexes", [](const Asker& asker) { return asker.target({listIndexes}); }},
    {"listSearchIndexes", [](const Asker& asker) { return asker.target({listSearchIndexes}); }},
    {"reIndex", [](const Asker& asker) { return asker.shared_target({reIndex}); }},
    {"renameCollection", renames},
    {"setIndexCommitQuorum", [](const Asker& asker) { return asker.target({createIndex}); }},
    {"updateSearchIndex", [](const Asker& asker) { return asker.target({updateSearchIndex}); }},
};

}  // namespace

std::span<const NamedRule> catalog_rules() {
  return list;
}

}  // namespace server::rules
