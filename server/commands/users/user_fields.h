// The fields that createUser and updateUser have in common.
#pragma once

#include "server/commands/users/principal_arguments.h"

namespace server {

struct UserFields {
  // Reads and checks the fields but for the user's name. Throws BadValue and the errors of wrong types.
  UserFields(OperationContext& op, const Request& request, const Name& name);

  std::optional<std::string> password;
  bool digest_password = true;
  std::optional<std::vector<std::string>> mechanisms;
  std::optional<bson::DocumentView> custom_data;
  std::optional<std::vector<Name>> roles;
  std::optional<access::Restrictions> restrictions;

  // Appends `credentials`, made of the password.
  void append_credentials(OperationContext& op, const Name& name, bson::Builder& out) const;
  void append_others(bson::Builder& out) const;  // customData, authenticationRestrictions, roles: those that were given

  static constexpr std::string_view names[] = {"pwd",        "customData",    "roles", "authenticationRestrictions",
                                               "mechanisms", "digestPassword"};
};

}  // namespace server
