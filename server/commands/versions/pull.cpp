// pull fetches a branch of a remote, and merges it.
#include "server/commands/shared/branches.h"
#include "server/commands/versions/fetched.h"
#include "server/commands/versions/merge_command.h"
#include "server/commands/versions/moved_refs.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
namespace pack = versions::pack;

constexpr std::string_view merge_fields[] = {"mode", "resolve", "paths", "collections", "message", "author"};

class Pull : public Command {
 public:
  std::string_view name() const override { return "pull"; }
  std::string_view help() const override {
    return "fetch a branch of a remote and merge it into the branch that the database's name says\n"
           "{ pull: <remote>, branch: <name there; default the same>, depth, unshallow: <as of fetch>, mode, resolve, paths, "
           "collections, message, author: <as of "
           "merge> }\n"
           "If nothing was committed here that the remote lacks, the branch just goes forward.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"branch", "depth",       "unshallow", "mode",  "resolve",
                                                 "paths",  "collections", "message",   "author"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string db = database_of(request);
    const Remote remote = remote_of(op, db, arguments.required_string("pull"));
    const versions::Ref own = ref_of(request);
    if (!own.steps.empty()) throw OperationError(ErrorCode::bad_value, "only a branch can be pulled into");
    const std::string theirs(arguments.string("branch").value_or(own.name));
    const Fetched fetched = fetch_from(op, request, db, remote, {.names = std::vector{theirs}, .depth = depth_of(arguments)});
    reply.append("remote", remote.name);
    append_count(reply, "made", static_cast<int64_t>(fetched.made));
    if (fetched.refs.size() != 1 || fetched.refs.front().name != theirs)
      throw OperationError(ErrorCode::protocol_error, "the remote sent another ref than was asked for");
    const versions::Hash commit = fetched.refs.front().commit;
    const auto database = branched(op, request);
    if (is_ahead(op, *database, own, commit)) {
      const bool left = fetched.main_left && own.name == versions::BranchedDatabase::main;
      const std::string_view change = move_ref(op, *database, {pack::Ref::Kind::branch, own.name, commit}, false);
      reply.append("branch", own.name).append("commit", hex(commit)).append("changed", change != "unchanged" || left);
      reply.append("fastForward", true);
      return;
    }
    merge(op, request, arguments, remote.tag(theirs), reply);
  }

 private:
  // Returns whether all that the branch has committed is in the commit.
  static bool is_ahead(OperationContext& op, versions::BranchedDatabase& database, const versions::Ref& own,
                       const versions::Hash& commit) {
    storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
    const auto& graph = database.branches().graph();
    const versions::Branch branch = database.branch(transaction, own);
    const auto to = graph.find(transaction, hex(commit));
    return to && graph.common_ancestor(transaction, branch.head, *to) == branch.head;
  }

  static void merge(OperationContext& op, const Request& request, const Arguments& arguments, const std::string& from,
                    bson::Builder& reply) {
    bson::Builder body;
    body.append("merge", from);
    for (const std::string_view name : merge_fields) {
      if (const auto given = arguments.any(name); given.exists()) body.append_element(given);
    }
    body.append("$db", request.db);
    const bson::Document command = body.done();
    Request merging = request;
    merging.command = "merge";
    merging.body = command;
    MergeCommand(versions::Branches::MergeKind::merge).run(op, merging, reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_pull_command() {
  return std::make_unique<Pull>();
}

}  // namespace server
