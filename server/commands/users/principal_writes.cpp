#include "server/commands/users/principal_writes.h"

#include "base/error.h"
#include "server/write/insert.h"
#include "server/write/statements.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr char schema_id[] = "authSchema";
constexpr int32_t schema_version = 5;

bool of_users(const char* ns) {
  return std::string_view(ns) == users::users_ns;
}

[[noreturn]] void not_found(const char* ns, const Name& name) {
  if (of_users(ns))
    throw OperationError(ErrorCode::user_not_found, "Could not find user \"" + name.name + "\" for db \"" + name.db + "\"");
  throw OperationError(31, "Could not find role: " + name.text());
}

}  // namespace

base::Mutex& changing_principals() {
  static base::Mutex mutex;
  return mutex;
}

void insert_principal(OperationContext& op, const char* ns, const Name& name, bson::DocumentView document) {
  if (!users_of(op).document(users::version_ns, schema_id)) {
    write::put_document(op, users::version_ns, schema_id,
                        bson::Builder().append("_id", schema_id).append("currentVersion", schema_version).done());
  }
  const write::InsertOutcome outcome = write::insert_documents(op, ns, {document}, {});
  if (outcome.inserted == 1) return;
  const bson::DocumentView error = outcome.errors.documents().front();
  const auto code = static_cast<ErrorCode>(error.find("code").to_int64());
  if (code == ErrorCode::duplicate_key) {
    throw OperationError(of_users(ns) ? 51003 : 51002,
                         std::string(of_users(ns) ? "User" : "Role") + " \"" + name.text() + "\" already exists");
  }
  throw OperationError(code, std::string(error.find("errmsg").as_string()));
}

void change_principal(OperationContext& op, const char* ns, const Name& name, bson::DocumentView fields) {
  const auto stored = of_users(ns) ? users_of(op).user_document(name) : users_of(op).role_document(name);
  if (!stored) not_found(ns, name);
  bson::Builder out;
  for (const auto& field : *stored) {
    if (!fields.has(field.name)) out.append_element(field);
  }
  for (const auto& field : fields) {
    if (field.type() != bson::Type::null) out.append_element(field);
  }
  write::put_document(op, ns, users::principal_id(name), out.done());
}

bool remove_principal(OperationContext& op, const char* ns, const Name& name) {
  return write::remove_document(op, ns, users::principal_id(name));
}

int64_t remove_principals(OperationContext& op, const char* ns, std::string_view db) {
  const bson::Document filter = bson::Builder().append("db", db).done();
  return write::run_delete(op, ns, {.filter = filter, .sort = {}, .hint = {}, .let = {}, .collation = {}, .all = true}).deleted;
}

bson::Document stored_user(const OperationContext& op, const Name& name) {
  auto document = users_of(op).user_document(name);
  if (!document) not_found(users::users_ns, name);
  return std::move(*document);
}

bson::Document stored_role(const OperationContext& op, const Name& name) {
  auto document = users_of(op).role_document(name);
  if (!document) not_found(users::roles_ns, name);
  return std::move(*document);
}

std::vector<Name> changed_roles(std::vector<Name> roles, const std::vector<Name>& given, bool grants) {
  for (const Name& role : given) {
    std::erase(roles, role);
    if (grants) roles.push_back(role);
  }
  return roles;
}

bson::Document roles_field(const std::vector<Name>& roles) {
  bson::Builder out;
  {
    auto list = out.array("roles");
    users::append_names(list, roles);
  }
  return out.done();
}

bson::Document privileges_field(const access::Privileges& privileges) {
  bson::Builder out;
  {
    auto list = out.array("privileges");
    privileges.append_to(list);
  }
  return out.done();
}

}  // namespace server
