// rolesInfo returns roles by name, or all of a database.
#include "base/error.h"
#include "bson/builder.h"
#include "server/commands/users/principal_arguments.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

struct Shown {
  bool privileges = false, restrictions = false;
};

void append_list(bson::Builder& out, std::string_view field, const access::Privileges& privileges) {
  auto list = out.array(field);
  privileges.append_to(list);
}

bson::Document describe(const users::Users& users, const users::Role& role, bool builtin, const Shown& shown) {
  bson::Builder out;
  out.append("_id", users::principal_id(role.name)).append("role", role.name.name).append("db", role.name.db);
  if (shown.privileges) append_list(out, "privileges", role.privileges);
  {
    auto list = out.array("roles");
    users::append_names(list, role.roles);
  }
  users::ResolvedRoles resolved = users.resolve(role.roles);
  out.append("isBuiltin", builtin);
  {
    auto list = out.array("inheritedRoles");
    users::append_names(list, {resolved.roles.begin(), resolved.roles.end()});
  }
  if (shown.privileges) {
    resolved.privileges.add(role.privileges);
    append_list(out, "inheritedPrivileges", resolved.privileges);
  }
  if (shown.restrictions) {
    out.append_array("authenticationRestrictions", role.restrictions.array());
    auto list = out.array("inheritedAuthenticationRestrictions");
    for (const access::Restrictions& one : resolved.restrictions) list.append(one.array());
  }
  return out.done();
}

class RolesInfo : public Command {
 public:
  std::string_view name() const override { return "rolesInfo"; }
  std::string_view help() const override { return "Returns information about roles."; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"showPrivileges", "showBuiltinRoles", "showAuthenticationRestrictions"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const AskedPrincipals asked = asked_principals(request, "role");
    const Shown shown{.privileges = read_privileges(arguments.any("showPrivileges")),
                      .restrictions = arguments.loose_boolean("showAuthenticationRestrictions").value_or(false)};
    const bool builtin = arguments.boolean("showBuiltinRoles").value_or(false);
    const users::Users& users = users_of(op);
    auto list = reply.array("roles");
    const auto show = [&](const Name& name) {
      if (const auto privileges = access::builtin_role(name)) {
        list.append(describe(users, {name, *privileges, {}, {}}, true, shown));
      } else if (const auto stored = users.role_document(name)) {
        list.append(describe(users, users::read_role(*stored), false, shown));
      }
    };
    for (const Name& name : asked.names) show(name);
    if (!asked.all_of_database) return;
    for (const bson::Document& stored : users.role_documents()) {
      const auto db = stored.view().find("db");
      if (db.is_string() && db.as_string() == request.db) list.append(describe(users, users::read_role(stored), false, shown));
    }
    if (!builtin) return;
    for (const std::string& name : access::builtin_roles_of(request.db)) show({name, request.db});
  }

 private:
  static bool read_privileges(const bson::Element& value) {
    if (!value.exists()) return false;
    if (value.is_number() || value.type() == bson::Type::boolean) return value.truthy();
    if (value.is_string() && value.as_string() == "asUserFragment")
      throw OperationError(ErrorCode::command_not_supported,
                           "showPrivileges: 'asUserFragment' is for routers of a sharded cluster");
    throw OperationError(
        ErrorCode::failed_to_parse,
        "Failed to parse 'showPrivileges'. 'showPrivileges' should either be a boolean or the string 'asUserFragment'");
  }
};

}  // namespace

std::unique_ptr<Command> make_roles_info_command() {
  return std::make_unique<RolesInfo>();
}

}  // namespace server
