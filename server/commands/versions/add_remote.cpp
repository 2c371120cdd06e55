// addRemote names another server's database, to exchange commits with it.
#include "server/commands/shared/branches.h"
#include "server/commands/versions/remotes.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/permission.h"
#include "server/core/services.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class AddRemote : public Command {
 public:
  std::string_view name() const override { return "addRemote"; }
  std::string_view help() const override {
    return "name a database of another server, to fetch commits from it and push them there\n"
           "{ addRemote: <name>, uri: \"mongodb://host/shop\" }\nWhat its branch dev names is shown as <name>/dev, and "
           "read-only.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"uri"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Arguments arguments(request);
    const std::string db = database_of(request), name(arguments.required_string("addRemote"));
    check_remote_name(name);
    if (db == "admin" || db == "config" || db == "local")
      throw OperationError(ErrorCode::illegal_operation, "database '" + db + "' can't have branches, and so no remotes");
    const Remote remote{name, RemoteUri::parse(arguments.required_string("uri"))};
    // A user who administers one database must not use the server's files, or its identity on other servers.
    if (remote.uri.takes_from_server && !may_on_cluster(op, access::Action::rotateCertificates)) {
      throw OperationError(ErrorCode::unauthorized,
                           "not authorized on the cluster to name files of the server in the URI of a remote, or a mechanism by "
                           "which the server logs in as itself");
    }
    for (const Remote& there : remotes_of(op, db)) {
      if (there.name == name)
        throw OperationError(ErrorCode::namespace_exists, "database '" + db + "' has a remote '" + name + "' already");
    }
    if (const auto database = op.services().databases->find(db)) {
      storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
      const auto& graph = database->branches().graph();
      const auto check = [&](const std::string& ref) {
        if (ref.starts_with(name + "/"))
          throw OperationError(ErrorCode::namespace_exists, "'" + ref + "' has a name that would be the remote's");
      };
      for (const auto& branch : graph.branches(transaction)) check(branch.name);
      for (const auto& [tag, commit] : graph.tags(transaction)) check(tag);
    }
    put_remote(op, db, remote);
  }
};

}  // namespace

std::unique_ptr<Command> make_add_remote_command() {
  return std::make_unique<AddRemote>();
}

}  // namespace server
