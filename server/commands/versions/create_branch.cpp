// createBranch makes another branch of the database, which begins with one of its states.
#include "base/error.h"
#include "server/commands/shared/branches.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/write/batch.h"
#include "server/write/namespaces.h"

namespace server {
namespace {

class CreateBranch : public Command {
 public:
  std::string_view name() const override { return "createBranch"; }
  std::string_view help() const override {
    return "make a branch of the database, which is used under the name <database>@<branch>\n"
           "{ createBranch: <name>, from: <branch, tag or commit; default main> }\n"
           "It begins with what was committed there last. The first branch of a database commits what is in it.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"from"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string name(arguments.required_string("createBranch"));
    versions::check_new_name(name);
    write::check_branch_creatable(name);
    if (name == versions::BranchedDatabase::main)
      throw base::OperationError(base::ErrorCode::namespace_exists, "there is a branch 'main'");
    const auto given = arguments.string("from");
    const versions::Ref from = given ? ref_of(*given) : ref_of(request);
    const versions::CommitInfo first = commit_info(op, arguments, "before the first branch");
    const auto database = branched_from(op, request, from, first).database;
    const auto indexes = database->keep_indexes(op.interrupted());
    const bson::Document made = write::in_transaction(op, [&](storage::Transaction& transaction) {
      const versions::Place parent = database->place(transaction, from);
      database->create(transaction, name, from);
      bson::Builder out;
      out.append("branch", name).append("commit", hex(database->branches().graph().commit(transaction, parent.commit)->id));
      // Changes that are not committed stay on the parent.
      out.append("uncommitted", parent.branch && database->has_pending(transaction, parent.branch->id));
      return out.done();
    });
    reply.append_all(made);
  }
};

}  // namespace

std::unique_ptr<Command> make_create_branch_command() {
  return std::make_unique<CreateBranch>();
}

}  // namespace server
