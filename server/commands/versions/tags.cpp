// createTag, dropTag, listTags: names of commits that stay where they are.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/list_cursor.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/write/batch.h"
#include "server/write/target.h"
#include "storage/store.h"

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
    const auto given = arguments.string("from");
    const versions::Ref from = given ? ref_of(*given) : ref_of(request);
    const auto database = branched(op, request);
    const bson::Document said = write::in_transaction(op, [&](storage::Transaction& transaction) {
      bson::Builder out;
      out.append("tag", name).append("commit", hex(database->create_tag(transaction, name, from)->id));
      return out.done();
    });
    reply.append_all(said);
  }
};

class DropTag : public Command {
 public:
  std::string_view name() const override { return "dropTag"; }
  std::string_view help() const override { return "forget a tag; its commit stays\n{ dropTag: <name> }"; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const std::string name(Arguments(request).required_string("dropTag"));
    const auto database = branched(op, request);
    write::in_transaction(op, [&](storage::Transaction& transaction) { database->drop_tag(transaction, name); });
    reply.append("dropped", name);
  }
};

class ListTags : public Command {
 public:
  std::string_view name() const override { return "listTags"; }
  std::string_view help() const override { return "the tags of the database\n{ listTags: 1, cursor: { batchSize: <int> } }"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const auto database = branched(op, request);
    std::vector<bson::Document> documents;
    {
      storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
      for (const auto& [name, commit] : database->branches().graph().tags(transaction)) {
        op.check_interrupt();
        documents.push_back(describe_name(transaction, *database, name, commit));
      }
    }
    reply_list(op, request, request.db + ".$cmd.listTags", std::move(documents), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_create_tag_command() {
  return std::make_unique<CreateTag>();
}
std::unique_ptr<Command> make_drop_tag_command() {
  return std::make_unique<DropTag>();
}
std::unique_ptr<Command> make_list_tags_command() {
  return std::make_unique<ListTags>();
}

}  // namespace server
