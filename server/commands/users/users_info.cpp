// usersInfo returns users by name, or all of a database, or all.
#include "base/error.h"
#include "bson/builder.h"
#include "server/access/scram.h"
#include "server/commands/users/principal_arguments.h"
#include "server/query/matcher.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

struct Shown {
  bool privileges = false, credentials = false, custom_data = true, restrictions = false;
};

void append_mechanisms(bson::DocumentView credentials, bson::Builder& out) {
  auto list = out.array("mechanisms");
  for (const auto& one : credentials) list.append(one.name);
}

bson::Document describe(const users::Users& users, bson::DocumentView stored, const Shown& shown) {
  bson::Builder out;
  const auto credentials = stored.find("credentials");
  for (const auto& field : stored) {
    if (field.name == "credentials" && !shown.credentials) continue;
    if (field.name == "customData" && !shown.custom_data) continue;
    if (field.name == "authenticationRestrictions") continue;
    out.append_element(field);
  }
  if (credentials.is_object() && !credentials.as_document().has("external")) append_mechanisms(credentials.as_document(), out);
  if (shown.restrictions) {
    const auto list = stored.find("authenticationRestrictions");
    out.append_array("authenticationRestrictions", list.is_array() ? list.as_document() : bson::DocumentView());
  }
  if (!shown.privileges) return out.done();
  const auto roles = stored.find("roles");
  const users::ResolvedRoles resolved =
      users.resolve(roles.is_array() ? users::read_names(roles.as_document()) : std::vector<Name>());
  {
    auto list = out.array("inheritedRoles");
    users::append_names(list, {resolved.roles.begin(), resolved.roles.end()});
  }
  {
    auto list = out.array("inheritedPrivileges");
    resolved.privileges.append_to(list);
  }
  if (shown.restrictions) {
    auto list = out.array("inheritedAuthenticationRestrictions");
    for (const access::Restrictions& one : resolved.restrictions) list.append(one.array());
  }
  return out.done();
}

class UsersInfo : public Command {
 public:
  std::string_view name() const override { return "usersInfo"; }
  std::string_view help() const override { return "Returns information about users."; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"showPrivileges", "showCredentials", "showCustomData",
                                                 "showAuthenticationRestrictions", "filter"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const AskedPrincipals asked = asked_principals(request, "user");
    const Shown shown{.privileges = arguments.loose_boolean("showPrivileges").value_or(false),
                      .credentials = arguments.loose_boolean("showCredentials").value_or(false),
                      .custom_data = arguments.loose_boolean("showCustomData").value_or(true),
                      .restrictions = arguments.loose_boolean("showAuthenticationRestrictions").value_or(false)};
    const auto filter = arguments.object("filter").value_or(bson::DocumentView());
    if ((shown.privileges || shown.restrictions) && (asked.all || asked.all_of_database)) {
      throw OperationError(ErrorCode::illegal_operation,
                           "Privilege or restriction details require exact-match usersInfo queries.");
    }
    const auto matcher = query::Matcher::parse(filter, query::parse_context(op));
    const users::Users& users = users_of(op);
    auto list = reply.array("users");
    const auto show = [&](bson::DocumentView stored) {
      const bson::Document user = describe(users, stored, shown);
      if (matcher->matches(user)) list.append(user);
    };
    for (const Name& name : asked.names) {
      if (const auto stored = users.user_document(name)) show(*stored);
    }
    if (!asked.all && !asked.all_of_database) return;
    for (const bson::Document& stored : users.user_documents()) {
      const auto db = stored.view().find("db");
      if (asked.all || (db.is_string() && db.as_string() == request.db)) show(stored);
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_users_info_command() {
  return std::make_unique<UsersInfo>();
}

}  // namespace server
