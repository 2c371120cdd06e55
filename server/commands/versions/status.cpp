// status shows what was written on a branch since its last commit.
#include "server/commands/shared/branches.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

class Status : public Command {
 public:
  std::string_view name() const override { return "status"; }
  std::string_view help() const override { return "what is not committed on the branch\n{ status: 1 }"; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const auto database = branched(op, request);
    storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
    const versions::Place place = database->place(transaction, ref_of(request));
    if (place.branch) reply.append("branch", place.branch->name);
    reply.append("commit", hex(database->branches().graph().commit(transaction, place.commit)->id))
        .append("readOnly", !place.branch);
    const auto changes =
        place.branch ? database->changes(transaction, *place.branch) : std::vector<versions::BranchedDatabase::Changes>();
    reply.append("clean", changes.empty());
    if (const auto merge = place.branch ? database->open_merge(transaction, *place.branch) : std::nullopt) {
      bson::Builder merging = reply.object("merging");
      merging.append_element(merge->request.view().find("kind")).append_element(merge->request.view().find("from"));
      merging.append("commit", hex(database->branches().graph().commit(transaction, merge->from)->id));
    }
    auto list = reply.array("collections");
    for (const auto& one : changes) {
      bson::Builder out = list.object();
      out.append("name", one.collection);
      if (one.made) out.append("created", true);
      if (one.dropped) out.append("dropped", true);
      append_count(out, "inserted", one.inserted);
      append_count(out, "modified", one.modified);
      append_count(out, "deleted", one.deleted);
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_status_command() {
  return std::make_unique<Status>();
}

}  // namespace server
