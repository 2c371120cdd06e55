#include "server/dispatch/audited.h"

#include <algorithm>
#include <array>

#include "bson/builder.h"
#include "server/core/audit.h"
#include "server/core/command.h"
#include "server/core/generic_arguments.h"
#include "server/core/operation.h"
#include "server/core/redaction.h"

namespace server {
namespace {

struct Audited {
  std::string_view command;
  std::string_view atype;
};

// MongoDB's events have MongoDB's names; the others are called like their commands.
constexpr std::array audited = {
    Audited{"_mergeAuthzCollections", "_mergeAuthzCollections"},
    Audited{"abortMerge", "abortMerge"},
    Audited{"addRemote", "addRemote"},
    Audited{"applyPatch", "applyPatch"},
    Audited{"cherryPick", "cherryPick"},
    Audited{"commit", "commit"},
    Audited{"commitValidator", "commitValidator"},
    Audited{"continueMerge", "continueMerge"},
    Audited{"createBranch", "createBranch"},
    Audited{"createRole", "createRole"},
    Audited{"createSnapshot", "createSnapshot"},
    Audited{"createTag", "createTag"},
    Audited{"createUser", "createUser"},
    Audited{"dropAllRolesFromDatabase", "dropAllRolesFromDatabase"},
    Audited{"dropAllUsersFromDatabase", "dropAllUsersFromDatabase"},
    Audited{"dropBranch", "dropBranch"},
    Audited{"dropRole", "dropRole"},
    Audited{"dropSnapshot", "dropSnapshot"},
    Audited{"dropStash", "dropStash"},
    Audited{"dropTag", "dropTag"},
    Audited{"dropUser", "dropUser"},
    Audited{"fetch", "fetch"},
    Audited{"grantPrivilegesToRole", "grantPrivilegesToRole"},
    Audited{"grantRolesToRole", "grantRolesToRole"},
    Audited{"grantRolesToUser", "grantRolesToUser"},
    Audited{"logRotate", "rotateLog"},
    Audited{"merge", "merge"},
    Audited{"pull", "pull"},
    Audited{"purge", "purge"},
    Audited{"push", "push"},
    Audited{"rebase", "rebase"},
    Audited{"receivePack", "receivePack"},
    Audited{"removeRemote", "removeRemote"},
    Audited{"renameBranch", "renameBranch"},
    Audited{"replSetInitiate", "replSetReconfig"},
    Audited{"replSetReconfig", "replSetReconfig"},
    Audited{"resetBranch", "resetBranch"},
    Audited{"resolveConflict", "resolveConflict"},
    Audited{"retention", "retention"},
    Audited{"revert", "revert"},
    Audited{"revokePrivilegesFromRole", "revokePrivilegesFromRole"},
    Audited{"revokeRolesFromRole", "revokeRolesFromRole"},
    Audited{"revokeRolesFromUser", "revokeRolesFromUser"},
    Audited{"rotateCertificates", "rotateCertificates"},
    Audited{"setClusterParameter", "setClusterParameter"},
    Audited{"setFeatureCompatibilityVersion", "setFeatureCompatibilityVersion"},
    Audited{"setParameter", "setParameter"},
    Audited{"shutdown", "shutdown"},
    Audited{"squash", "squash"},
    Audited{"stash", "stash"},
    Audited{"stashApply", "stashApply"},
    Audited{"stashPop", "stashPop"},
    Audited{"sweep", "sweep"},
    Audited{"updateRole", "updateRole"},
    Audited{"updateUser", "updateUser"},
};

bson::Document parameters_of(const Request& request) {
  bson::Builder out;
  const auto named = request.body.first();
  if (request.command.starts_with("replSet")) {
    if (named.is_object()) out.append("new", named.as_document());
    return out.done();
  }
  out.append("ns", request.db);
  const bson::Document shown = without_secrets(request);
  for (const auto& field : shown) {
    if (!is_generic_argument(field.name)) out.append_element(field);
  }
  return out.done();
}

}  // namespace

void audit_command(Audit& audit, const OperationContext& op, const Command& command, base::ErrorCode code) {
  const auto found =
      std::find_if(audited.begin(), audited.end(), [&](const Audited& one) { return one.command == command.name(); });
  if (found != audited.end()) audit.record(found->atype, &op.client(), parameters_of(op.request()), code);
}

}  // namespace server
