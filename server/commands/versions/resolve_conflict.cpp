// resolveConflict decides what becomes of a document in the merge that is under way on a branch.
#include "base/error.h"
#include "server/commands/shared/branches.h"
#include "server/commands/shared/id_argument.h"
#include "server/commands/shared/view_rights.h"
#include "server/commands/versions/open_merge.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/query/views.h"
#include "server/write/batch.h"
#include "server/write/storable.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
using versions::Decision;

class ResolveConflict : public Command {
 public:
  std::string_view name() const override { return "resolveConflict"; }
  std::string_view help() const override {
    return "say what becomes of a document in the merge that is under way on the branch\n"
           "{ resolveConflict: 1, collection: <name>, _id: <value>, take: ours | theirs | base } or { …, document: <document> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"collection", "_id", "id", "take", "document"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string collection(arguments.required_string("collection"));
    bson::Builder id;
    id.append("_id", id_argument(arguments));
    const bson::Document id_document = id.done();
    Decision decision = what_is_decided(arguments, id_document);
    if (collection == query::views_collection && decision.take == Decision::Take::document)
      check_may_define_view(op, request, request.db, bson::DocumentView(decision.document));
    const auto database = branched(op, request);
    const versions::Ref ref = ref_of(request);
    write::in_transaction(op, [&](storage::Transaction& transaction) {
      const versions::Branch branch = database->branch(transaction, ref);
      const MergeRequest how = open_merge(op, transaction, *database, branch);
      const auto sides =
          database->merge_sides(transaction, branch, how.kind(), how.commit(), collection, versions::key_of(id_document.bytes()));
      if (!sides || sides->theirs == sides->base) {
        throw OperationError(ErrorCode::no_such_key,
                             "the merge doesn't change that document of " + collection + " on the branch");
      }
      decision.sides = versions::hash_of(sides->view());
      Decision decided = decision;
      if (decided.take == Decision::Take::document) decided.document = with_stored_id(*sides, decision.document);
      database->decide(transaction, branch, *sides, decided);
    });
    reply.append("resolved", name_of(decision.take));
  }

 private:
  static base::Bytes key_of_id(const bson::ValueView& id) {
    bson::Builder out;
    out.append("_id", id);
    return versions::key_of(out.done().bytes());
  }
  // Numbers of several types are one _id, and it stays as it is stored.
  static base::Bytes with_stored_id(const versions::BranchedDatabase::MergeSides& sides, const base::Bytes& document) {
    const auto& any = sides.ours ? sides.ours : sides.theirs ? sides.theirs : sides.base;
    bson::Builder out;
    out.append("_id", static_cast<bson::ValueView>(bson::DocumentView(*any).find("_id")));
    for (const bson::Element& field : bson::DocumentView(document)) {
      if (field.name != "_id") out.append_element(field);
    }
    return out.done().bytes();
  }
  static Decision what_is_decided(const Arguments& arguments, const bson::Document& id) {
    const auto take = arguments.string("take");
    const auto document = arguments.object("document");
    if (take.has_value() == document.has_value())
      throw OperationError(ErrorCode::bad_value, "resolveConflict wants 'take' or 'document', and not both");
    if (document) {
      bson::Builder whole;
      whole.append_all(id);
      for (const auto& field : *document) {
        if (field.name != "_id")
          whole.append_element(field);
        else if (key_of_id(field) != key_of_id(id.view().find("_id")))
          throw OperationError(ErrorCode::bad_value, "the document has another _id");
      }
      const bson::Document checked = whole.done();
      const auto changed = write::make_storable(checked, std::nullopt);
      return {.take = Decision::Take::document, .document = (changed ? *changed : checked).bytes(), .sides = {}};
    }
    for (const auto& [name, one] : decision_names) {
      if (*take == name && one != Decision::Take::document) return {.take = one, .document = {}, .sides = {}};
    }
    throw OperationError(ErrorCode::bad_value, "'" + std::string(*take) + "' is none of ours, theirs, base");
  }
};

}  // namespace

std::unique_ptr<Command> make_resolve_conflict_command() {
  return std::make_unique<ResolveConflict>();
}

}  // namespace server
