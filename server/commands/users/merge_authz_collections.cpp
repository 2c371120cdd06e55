// _mergeAuthzCollections takes the users and roles of other collections over: mongorestore puts those of a dump there first.
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "server/commands/users/principal_writes.h"
#include "server/write/statements.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

constexpr size_t unsound_max = 1000;

Name name_in(const char* ns, bson::DocumentView document) {
  const Name name = std::string_view(ns) == users::users_ns ? users::read_user(document).name : users::read_role(document).name;
  const auto id = document["_id"];
  if (!id.is_string() || id.as_string() != users::principal_id(name))
    throw OperationError(ErrorCode::unsupported_format, "its _id is not " + users::principal_id(name));
  return name;
}

class MergeAuthzCollections : public Command {
 public:
  std::string_view name() const override { return "_mergeAuthzCollections"; }
  std::string_view help() const override { return "Internal command used by mongorestore for updating user/role data"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"tempUsersCollection", "tempRolesCollection", "db", "drop"};
    return names;
  }
  bool admin_only() const override { return true; }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Arguments arguments(request);
    const std::string users_from(arguments.string("tempUsersCollection").value_or(""));
    const std::string roles_from(arguments.string("tempRolesCollection").value_or(""));
    const Merge merge{std::string(arguments.required_string("db")), arguments.boolean("drop").value_or(false)};
    if (users_from.empty() && roles_from.empty()) {
      throw OperationError(ErrorCode::bad_value,
                           "Must provide at least one of \"tempUsersCollection\" and \"tempRolesCollection\"");
    }
    for (const std::string& from : {users_from, roles_from}) {
      if (from == users::users_ns || from == users::roles_ns)
        throw OperationError(ErrorCode::bad_value, from + " can't be merged into itself");
    }
    if (!users_from.empty()) take_over(op, users::users_ns, users_from, merge);
    if (!roles_from.empty()) take_over(op, users::roles_ns, roles_from, merge);
  }

 private:
  struct Merge {
    std::string db;  // empty: all databases
    bool drop;       // whether those that are there already are replaced, and removed if the other collection lacks them
  };

  // A document that can't be taken over is left out with a warning, and the others are taken; where many are unsound, these are
  // no users or roles.
  static void take_over(OperationContext& op, const char* ns, const std::string& from, const Merge& merge) {
    const auto asked_for = [&](const Name& name) { return merge.db.empty() || name.db == merge.db; };
    std::set<Name> there;
    if (merge.drop) {
      for (const bson::Document& document : users_of(op).documents(ns)) {
        if (const Name name = name_in(ns, document); asked_for(name)) there.insert(name);
      }
    }
    size_t unsound = 0;
    users_of(op).each(from, [&](bson::DocumentView document) {
      op.check_interrupt();
      try {
        const Name name = name_in(ns, document);
        if (asked_for(name)) take_over(op, ns, name, document, there.erase(name) > 0);
      } catch (const OperationError& error) {
        op.check_interrupt();
        if (++unsound > unsound_max) {
          throw OperationError(ErrorCode::unsupported_format,
                               "more than " + std::to_string(unsound_max) + " documents of " + from + " can't be taken over");
        }
        warn(ns, document["_id"], error);
      }
      return true;
    });
    const base::MutexLock alone(changing_principals());
    for (const Name& name : there) remove_principal(op, ns, name);
  }

  static void take_over(OperationContext& op, const char* ns, const Name& name, bson::DocumentView document, bool replaces) {
    const base::MutexLock alone(changing_principals());
    if (replaces)
      write::put_document(op, ns, users::principal_id(name), document);
    else
      insert_principal(op, ns, name, document);
  }

  static void warn(const char* ns, bson::ValueView id, const OperationError& error) {
    base::log(base::Severity::warning, base::LogComponent::access, 20509, "A user or role could not be taken over",
              base::Attributes().add("namespace", ns).add("_id", bson::to_shell(id)).add("error", error.what()));
  }
};

}  // namespace

std::unique_ptr<Command> make_merge_authz_collections_command() {
  return std::make_unique<MergeAuthzCollections>();
}

}  // namespace server
