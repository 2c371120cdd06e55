#include "server/commands/users/principal_arguments.h"

#include "base/error.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

users::Logins& logins_of(const OperationContext& op) {
  if (!op.services().logins) throw OperationError(ErrorCode::illegal_operation, "this server keeps no users");
  return *op.services().logins;
}

users::Users& users_of(const OperationContext& op) {
  users::Users* users = logins_of(op).users();
  if (!users) throw OperationError(ErrorCode::illegal_operation, "this server keeps no users");
  return *users;
}

Name named_principal(const Request& request) {
  const std::string name(Arguments(request).required_string(request.body.first().name));
  if (name.empty()) throw OperationError(ErrorCode::bad_value, "A user's or a role's name can't be empty");
  if (name.find('\0') != name.npos) throw OperationError(ErrorCode::bad_value, "Username cannot contain NUL characters");
  if (request.db.find('@') != request.db.npos) {
    throw OperationError(ErrorCode::invalid_namespace,
                         "Users and roles belong to a database, and not to a branch or snapshot of it: " + request.db);
  }
  return {name, request.db};
}

std::vector<Name> role_names(const Arguments& arguments, std::string_view field, const std::string& db) {
  std::vector<Name> roles;
  for (const auto& each : arguments.required_array(field)) {
    if (each.is_string()) {
      roles.push_back({std::string(each.as_string()), db});
    } else if (each.is_object()) {
      const Arguments one(arguments.dotted(field), each.as_document());
      one.only({"role", "db"});
      roles.push_back({std::string(one.required_string("role")), std::string(one.required_string("db"))});
    } else {
      throw OperationError(ErrorCode::bad_value, "Role names must be either strings or objects");
    }
    if (roles.back().name.empty()) throw OperationError(ErrorCode::bad_value, "Role name must be non-empty");
  }
  return roles;
}

void require_roles(const users::Users& users, const std::vector<Name>& roles) {
  for (const Name& role : roles) {
    if (!users.role_exists(role)) throw OperationError(31, "Could not find role: " + role.text());
  }
}

access::Privileges privileges_of(const Arguments& arguments, std::string_view field) {
  access::Privileges privileges;
  for (const auto& each : arguments.required_array(field)) {
    if (!each.is_object()) {
      throw OperationError(ErrorCode::type_mismatch, "BSON field '" + arguments.dotted(field) + "." + std::string(each.name) +
                                                         "' is the wrong type '" + std::string(bson::type_name(each.type())) +
                                                         "', expected type 'object'");
    }
    privileges.add(access::Privilege::parse(each.as_document()));
  }
  return privileges;
}

AskedPrincipals asked_principals(const Request& request, std::string_view kind) {
  AskedPrincipals asked;
  const bson::Element first = request.body.first();
  const auto take = [&](const bson::Element& one) {
    if (one.is_string()) {
      asked.names.push_back({std::string(one.as_string()), request.db});
      return;
    }
    if (!one.is_object()) throw OperationError(ErrorCode::bad_value, "User and role names must be either strings or objects");
    const Arguments name(std::string(first.name), one.as_document());
    asked.names.push_back({std::string(name.required_string(kind)), std::string(name.required_string("db"))});
  };
  if (first.is_number() && first.to_double() == 1) {
    asked.all_of_database = true;
  } else if (first.is_object() && first.as_document().first().name == "forAllDBs" && kind == "user") {
    if (first.as_document().count() != 1 || !first.as_document().first().truthy())
      throw OperationError(ErrorCode::bad_value, "forAllDBs: true stands alone");
    asked.all = true;
  } else if (first.is_array()) {
    for (const auto& one : first.as_document()) take(one);
  } else {
    take(first);
  }
  return asked;
}

}  // namespace server
