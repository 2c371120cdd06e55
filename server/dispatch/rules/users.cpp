// The rules of commands that log in, and of those that change and show users and roles.
#include "server/dispatch/rules/rules.h"

namespace server::rules {
namespace {

using bson::DocumentView;
using bson::Element;
using enum Action;

// The database of a role or user that is named by a text or by {role, db}.
std::string_view db_of(const Asker& asker, const Element& named) {
  if (!named.is_object()) return asker.request().db;
  const auto db = named.as_document().find("db");
  return db.is_string() ? db.as_string() : std::string_view(asker.request().db);
}

// Roles are given and taken by who may do so in the database of each.
bool each_role(const Asker& asker, std::string_view field, const ActionSet& actions) {
  const auto roles = asker.request().body.find(field);
  if (!roles.is_array()) return true;  // refused when it is parsed
  for (const auto& role : roles.as_document()) {
    if (!asker.database(db_of(asker, role), actions)) return false;
  }
  return true;
}

bool each_privilege(const Asker& asker, const ActionSet& actions) {
  const auto privileges = asker.request().body.find("privileges");
  if (!privileges.is_array()) return true;
  for (const auto& privilege : privileges.as_document()) {
    const auto resource = privilege.is_object() ? privilege.as_document().find("resource") : Element();
    const auto db = resource.is_object() ? resource.as_document().find("db") : Element();
    // Rights that aren't of one database are admin's to give.
    const bool of_one = db.is_string() && !db.as_string().empty();
    if (!asker.database(of_one ? db.as_string() : std::string_view("admin"), actions)) return false;
  }
  return true;
}

bool restricts(const Asker& asker) {
  return !asker.request().body.has("authenticationRestrictions") || asker.database({setAuthenticationRestriction});
}

bool is_self(const Asker& asker, std::string_view user, std::string_view db) {
  return asker.authority().user.name == user && asker.authority().user.db == db;
}

bool creates_user(const Asker& asker) {
  return asker.database({createUser}) && each_role(asker, "roles", {grantRole}) && restricts(asker);
}

bool updates_user(const Asker& asker) {
  const DocumentView body = asker.request().body;
  const bool self = is_self(asker, asker.named(), asker.request().db);
  const auto may = [&](Action any, Action own) { return asker.database({any}) || (self && asker.database({own})); };
  if ((body.has("pwd") || body.has("mechanisms")) && !may(changePassword, changeOwnPassword)) return false;
  if (body.has("customData") && !may(changeCustomData, changeOwnCustomData)) return false;
  // All former roles are taken, wherever they are of.
  if (body.has("roles") && !(asker.database("", {revokeRole}) && each_role(asker, "roles", {grantRole}))) return false;
  return restricts(asker);
}

bool sees_users(const Asker& asker) {
  const Element asked = asker.request().body.first();
  const auto one = [&](const Element& named) {
    std::string_view name = named.is_string() ? named.as_string() : std::string_view();
    if (named.is_object()) {
      const auto user = named.as_document().find("user");
      if (user.is_string()) name = user.as_string();
    }
    const std::string_view db = db_of(asker, named);
    return (!name.empty() && is_self(asker, name, db)) || asker.database(db, {viewUser});
  };
  if (asked.is_object() && asked.as_document().has("forAllDBs"))
    return asker.cluster({viewUser}) || asker.database("", {viewUser});
  if (asked.is_string() || asked.is_object()) return one(asked);
  if (!asked.is_array()) return asker.database({viewUser});
  for (const auto& each : asked.as_document()) {
    if (!one(each)) return false;
  }
  return true;
}

bool sees_roles(const Asker& asker) {
  const Element asked = asker.request().body.first();
  const auto one = [&](const Element& named) {
    std::string_view name = named.is_string() ? named.as_string() : std::string_view();
    if (named.is_object()) {
      const auto role = named.as_document().find("role");
      if (role.is_string()) name = role.as_string();
    }
    const std::string_view db = db_of(asker, named);
    return asker.authority().roles.contains({std::string(name), std::string(db)}) || asker.database(db, {viewRole});
  };
  if (asked.is_string() || asked.is_object()) return one(asked);
  if (!asked.is_array()) return asker.database({viewRole});
  for (const auto& each : asked.as_document()) {
    if (!one(each)) return false;
  }
  return true;
}

bool creates_role(const Asker& asker) {
  return asker.database({createRole}) && each_role(asker, "roles", {grantRole}) && each_privilege(asker, {grantRole}) &&
         restricts(asker);
}

bool updates_role(const Asker& asker) {
  const DocumentView body = asker.request().body;
  // All former roles and privileges are taken, wherever they are of.
  if ((body.has("roles") || body.has("privileges")) && !asker.database("", {revokeRole})) return false;
  return each_role(asker, "roles", {grantRole}) && each_privilege(asker, {grantRole}) && restricts(asker);
}

template <Action action>
bool on_database(const Asker& asker) {
  return asker.database({action});
}

// The users and roles that come may have any roles and privileges, so whoever brings them may give those of all databases,
// whichever database they come to.
bool merges_principals(const Asker& asker) {
  ActionSet actions{createUser, createRole, grantRole, setAuthenticationRestriction, viewUser, viewRole};
  if (asker.request().body.find("drop").truthy()) actions.add({dropUser, dropRole, revokeRole});
  if (!asker.database("", actions)) return false;
  for (const char* field : {"tempUsersCollection", "tempRolesCollection"}) {
    const std::string_view from = asker.text(field);
    if (!from.empty() && !asker.ns(from, {find})) return false;
  }
  return true;
}

constexpr NamedRule list[] = {
    {"_mergeAuthzCollections", merges_principals},
    {"authenticate", anybody},
    {"createRole", creates_role},
    {"createUser", creates_user},
    {"dropAllRolesFromDatabase", on_database<dropRole>},
    {"dropAllUsersFromDatabase", on_database<dropUser>},
    {"dropRole", on_database<dropRole>},
    {"dropUser", on_database<dropUser>},
    {"grantPrivilegesToRole", [](const Asker& asker) { return each_privilege(asker, {grantRole}); }},
    {"grantRolesToRole", [](const Asker& asker) { return each_role(asker, "roles", {grantRole}); }},
    {"grantRolesToUser", [](const Asker& asker) { return each_role(asker, "roles", {grantRole}); }},
    {"invalidateUserCache", [](const Asker& asker) { return asker.cluster({invalidateUserCache}); }},
    {"revokePrivilegesFromRole", [](const Asker& asker) { return each_privilege(asker, {revokeRole}); }},
    {"revokeRolesFromRole", [](const Asker& asker) { return each_role(asker, "roles", {revokeRole}); }},
    {"revokeRolesFromUser", [](const Asker& asker) { return each_role(asker, "roles", {revokeRole}); }},
    {"rolesInfo", sees_roles},
    {"saslContinue", anybody},
    {"saslStart", anybody},
    {"updateRole", updates_role},
    {"updateUser", updates_user},
    {"usersInfo", sees_users},
};

}  // namespace

std::span<const NamedRule> users_rules() {
  return list;
}

}  // namespace server::rules
