// getProof proves by a commit's id what the commit shows of a document.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/id_argument.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"

namespace server {
namespace {

class GetProof : public Command {
 public:
  std::string_view name() const override { return "getProof"; }
  std::string_view help() const override {
    return "that a document was in the commit that the database's name says, or wasn't, for who has the commit's id alone\n"
           "{ getProof: 1, coll: <string>, _id: <any> }\nOf a branch its last commit is meant. tools/verify_proof checks it.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"coll", "_id", "id"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string_view collection = arguments.required_string("coll");
    const bson::ValueView id = id_argument(arguments);
    const query::States states(op, branched(op, request));
    const versions::CommitNumber commit = states.place(ref_of(request)).commit;
    const versions::CommitProof proof = states.database().prove(states.transaction(), commit, collection, id);
    reply.append("commit", hex(states.branches().graph().commit(states.transaction(), commit)->id))
        .append("collection", collection)
        .append("_id", id);
    reply.append("present", proof.hash.has_value());
    if (proof.hash) {
      reply.append("hash", hex(*proof.hash));
      if (!proof.has_document) reply.append("purged", true);
    }
    reply.append("proof", bson::Binary{0, proof.bytes});
  }
};

}  // namespace

std::unique_ptr<Command> make_get_proof_command() {
  return std::make_unique<GetProof>();
}

}  // namespace server
