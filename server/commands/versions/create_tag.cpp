// createTag names a commit for good.
#include "server/commands/shared/branches.h"
#include "server/commands/versions/remotes.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/write/batch.h"

namespace server {
namespace {

class CreateTag : public Command {
 public:
  std::string_view name() const override { return "createTag"; }
  std::string_view help() const override {
    return "name a commit for good\n{ createTag: <name>, from: <branch, tag or commit; default what the database's name says> "
           "}\nOf a branch it is the last commit.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"from"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string name(arguments.required_string("createTag"));
    versions::check_new_name(name);
    const auto given = arguments.string("from");
    const versions::Ref from = given ? ref_of(*given) : ref_of(request);
    const auto database = branched(op, request);
    check_not_of_remote(op, database->name(), name);
    const bson::Document shown = write::in_transaction(op, [&](storage::Transaction& transaction) {
      bson::Builder out;
      out.append("tag", name).append("commit", hex(database->create_tag(transaction, name, from)->id));
      return out.done();
    });
    reply.append_all(shown);
  }
};

}  // namespace

std::unique_ptr<Command> make_create_tag_command() {
  return std::make_unique<CreateTag>();
}

}  // namespace server
