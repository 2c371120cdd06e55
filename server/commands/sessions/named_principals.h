// usersInfo and rolesInfo ask about 1, a name, {user, db} or {role, db}, {forAllDBs: true}, or a list of names.
#pragma once

#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"

namespace server {

// `kind` is "user" or "role". Throws BadValue (2) and TypeMismatch (14) for an argument that names none.
inline void check_principals(const bson::ValueView& asked, std::string_view command, std::string_view kind) {
  using base::ErrorCode;
  using base::OperationError;
  const auto check_one = [&](const bson::ValueView& one) {
    if (one.is_string()) return;
    if (!one.is_object()) throw OperationError(ErrorCode::bad_value, "User and role names must be either strings or objects");
    const Arguments name(std::string(command), one.as_document());
    name.required_string(kind);
    name.required_string("db");
  };
  if (asked.is_number() && asked.to_double() == 1) return;
  if (asked.is_object() && asked.as_document().first().name == "forAllDBs" && kind == "user") {
    if (asked.as_document().count() == 1 && asked.as_document().first().truthy()) return;
    throw OperationError(ErrorCode::bad_value, "forAllDBs: true stands alone");
  }
  if (!asked.is_array()) return check_one(asked);
  for (const auto& one : asked.as_document()) check_one(one);
}

}  // namespace server
