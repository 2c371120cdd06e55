#include "server/users/principals.h"

#include "base/error.h"
#include "bson/builder.h"

namespace server::users {
namespace {

using base::ErrorCode;
using base::OperationError;

[[noreturn]] void unsound(std::string_view ns, const std::string& what) {
  throw OperationError(ErrorCode::unsupported_format, "A document of " + std::string(ns) + " isn't sound: " + what);
}

std::string text_of(bson::DocumentView document, std::string_view field, std::string_view ns) {
  const auto text = document.find(field);
  if (!text.is_string() || text.as_string().empty()) unsound(ns, "'" + std::string(field) + "' is no text");
  return std::string(text.as_string());
}

access::Restrictions restrictions_of(bson::DocumentView document) {
  const auto list = document.find("authenticationRestrictions");
  return list.is_array() ? access::Restrictions::parse(list.as_document()) : access::Restrictions();
}

}  // namespace

std::string principal_id(const Name& name) {
  return name.db + "." + name.name;
}

std::vector<Name> read_names(bson::DocumentView list) {
  std::vector<Name> out;
  for (const auto& each : list) {
    if (!each.is_object()) unsound(users_ns, "a role is no document");
    out.push_back({text_of(each.as_document(), "role", users_ns), text_of(each.as_document(), "db", users_ns)});
  }
  return out;
}

void append_names(bson::ArrayBuilder& out, const std::vector<Name>& names) {
  for (const Name& name : names) out.object().append("role", name.name).append("db", name.db);
}

User read_user(bson::DocumentView document) {
  User user;
  user.name = {text_of(document, "user", users_ns), text_of(document, "db", users_ns)};
  if (const auto id = document.find("userId"); id.type() == bson::Type::binary) user.id = base::Bytes(id.as_binary().bytes);
  const auto credentials = document.find("credentials");
  if (!credentials.is_object()) unsound(users_ns, "'credentials' is no document");
  for (const auto& one : credentials.as_document()) {
    if (one.name == "external") user.external = one.truthy();
    const auto hash = access::scram_hash(one.name);
    if (!hash) continue;
    const auto parsed = one.is_object() ? access::ScramCredentials::parse(one.as_document()) : std::nullopt;
    if (!parsed) unsound(users_ns, "the credentials of " + std::string(one.name) + " have another form");
    (*hash == access::ScramHash::sha1 ? user.sha1 : user.sha256) = {*parsed};
  }
  if (const auto roles = document.find("roles"); roles.is_array()) user.roles = read_names(roles.as_document());
  user.restrictions = restrictions_of(document);
  return user;
}

Role read_role(bson::DocumentView document) {
  Role role;
  role.name = {text_of(document, "role", roles_ns), text_of(document, "db", roles_ns)};
  if (const auto privileges = document.find("privileges"); privileges.is_array()) {
    for (const auto& one : privileges.as_document()) {
      if (!one.is_object()) unsound(roles_ns, "a privilege is no document");
      role.privileges.add(access::Privilege::parse(one.as_document()));
    }
  }
  if (const auto roles = document.find("roles"); roles.is_array()) role.roles = read_names(roles.as_document());
  role.restrictions = restrictions_of(document);
  return role;
}

}  // namespace server::users
