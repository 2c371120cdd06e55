// insert adds documents to a collection.
#include "server/write/insert.h"
#include "server/commands/crud/write_command.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/write/retry.h"

namespace server {
namespace {

class Insert : public Command {
 public:
  std::string_view name() const override { return "insert"; }
  std::string_view help() const override { return "insert documents"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"documents", "ordered",        "bypassDocumentValidation",
                                                 "stmtIds",   "collectionUUID", "bypassEmptyTsReplacement"};
    return names;
  }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }
  OpKind kind() const override { return OpKind::insert; }
  bool stable_api() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::allowed; }
  bool retryable() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    write::InsertOptions options;
    options.ordered = arguments.boolean("ordered").value_or(true);
    options.keep_empty_timestamps = arguments.boolean("bypassEmptyTsReplacement").value_or(false);
    arguments.loose_boolean("bypassDocumentValidation");
    const auto documents = statements_of(request, "documents");
    const std::string ns = write_namespace(op, request);
    auto ids = write::statement_ids("insert", request.body, documents.size());
    if (op.retry) op.retry->set_ids(std::move(ids));
    if (op.retry) return run_retryable(op, ns, documents, options, reply);
    const auto outcome = write::insert_documents(op, ns, documents, options);
    reply.append("n", static_cast<int32_t>(outcome.inserted));
    outcome.errors.append(reply);
  }

 private:
  // Documents that an earlier attempt has inserted are left out, and counted.
  static void run_retryable(OperationContext& op, const std::string& ns, const std::vector<bson::DocumentView>& documents,
                            write::InsertOptions options, bson::Builder& reply) {
    std::vector<bson::DocumentView> left;
    for (size_t i = 0; i < documents.size(); ++i) {
      op.retry->at(i);
      if (op.retry->executed()) continue;
      left.push_back(documents[i]);
      options.places.push_back(i);
    }
    const auto outcome = write::insert_documents(op, ns, left, options);
    int64_t inserted = outcome.inserted + static_cast<int64_t>(documents.size() - left.size());
    if (options.ordered && !outcome.errors.empty()) {
      // Documents after the first error don't count, even if an earlier attempt inserted them.
      const size_t stopped = outcome.errors.first_index();
      inserted = static_cast<int64_t>(stopped);
    }
    reply.append("n", static_cast<int32_t>(inserted));
    outcome.errors.append(reply);
    op.retry->append_retried(reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_insert_command() {
  return std::make_unique<Insert>();
}

}  // namespace server
