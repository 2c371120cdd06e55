// bulkWrite runs inserts, updates and deletes in many collections and databases, one after the other.
#include "base/error.h"
#include "server/commands/crud/bulk_write_request.h"
#include "server/commands/shared/collection_options.h"
#include "server/commands/shared/list_cursor.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/dispatch/statement.h"
#include "server/write/insert.h"
#include "server/write/retry.h"
#include "server/write/write_errors.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
using Kind = BulkWriteRequest::Kind;

constexpr const char* cursor_ns = "admin.$cmd.bulkWrite";
// The results of one command take at most this much until a client fetches them.
constexpr size_t results_bytes_max = 48 << 20;

// Collects one result for each operation that was run, and the sums.
class Results {
 public:
  Results(OperationContext& op, bool errors_only) : errors_only_(errors_only), results_(std::make_unique<ListSource>(op)) {}

  void inserted(size_t index) {
    ++inserted_;
    if (!errors_only_) add(begin(true, index).append("n", 1).done());
  }

  void updated(size_t index, const write::UpdateOutcome& outcome) {
    matched_ += outcome.matched;
    modified_ += outcome.modified;
    upserted_ += outcome.upserted_id ? 1 : 0;
    if (errors_only_) return;
    bson::Builder result = begin(true, index);
    result.append("n", static_cast<int32_t>(outcome.matched + (outcome.upserted_id ? 1 : 0)));
    result.append("nModified", static_cast<int32_t>(outcome.modified));
    if (outcome.upserted_id) result.object("upserted").append("_id", *outcome.upserted_id);
    add(result.done());
  }

  void removed(size_t index, int64_t count) {
    removed_ += count;
    if (!errors_only_) add(begin(true, index).append("n", static_cast<int32_t>(count)).done());
  }

  void failed(size_t index, Kind kind, const OperationError& error) {
    const write::ErrorRoom::Shown shown = room_.take(error);
    failed(index, kind, static_cast<int32_t>(error.code()), shown.message, shown.details);
  }

  // `error` is one of writeErrors.
  void failed(size_t index, bson::DocumentView error) {
    bson::Builder details;
    for (const auto& field : error) {
      if (field.name != "index" && field.name != "code" && field.name != "errmsg") details.append_element(field);
    }
    failed(index, Kind::insert, error["code"].as_int32(), error["errmsg"].as_string(), details.done());
  }

  // Returns whether no more operations may be run, because nobody could say how they went.
  bool full() const { return bytes_ >= results_bytes_max || !room_for_all_; }
  std::string why_full() const {
    if (!room_for_all_) return "The server has no memory left for more results of a bulkWrite";
    return "BulkWrite response size exceeded limit (" + std::to_string(results_bytes_max) + " bytes)";
  }
  bool any_failed() const { return errors_ > 0; }
  std::unique_ptr<ListSource> take() { return std::move(results_); }

  void append_sums(bson::Builder& reply) const {
    const auto sum = [&](std::string_view name, int64_t value) { reply.append(name, static_cast<int32_t>(value)); };
    sum("nErrors", errors_);
    sum("nInserted", inserted_);
    sum("nMatched", matched_);
    sum("nModified", modified_);
    sum("nUpserted", upserted_);
    sum("nDeleted", removed_);
  }

 private:
  static bson::Builder begin(bool ok, size_t index) {
    bson::Builder result;
    result.append("ok", ok ? 1.0 : 0.0).append("idx", static_cast<int32_t>(index));
    return result;
  }

  void failed(size_t index, Kind kind, int32_t code, std::string_view message, bson::DocumentView details) {
    ++errors_;
    bson::Builder result = begin(false, index);
    result.append("code", code).append("errmsg", message).append_all(details).append("n", 0);
    if (kind == Kind::update) result.append("nModified", 0);
    add(result.done());
  }

  void add(bson::Document result) {
    bytes_ += result.size();
    room_for_all_ = results_->add_anyway(std::move(result)) && room_for_all_;
  }

  const bool errors_only_;
  std::unique_ptr<ListSource> results_;
  bool room_for_all_ = true;
  write::ErrorRoom room_;
  size_t bytes_ = 0;
  int64_t errors_ = 0, inserted_ = 0, matched_ = 0, modified_ = 0, upserted_ = 0, removed_ = 0;
};

class Run {
 public:
  Run(OperationContext& op, const BulkWriteRequest& request) : op_(op), request_(request), results_(op, request.errors_only) {}

  Results& results() { return results_; }

  void run() {
    for (size_t at = 0; at < request_.ops.size() && !(request_.ordered && results_.any_failed());) {
      op_.check_interrupt();
      if (results_.full()) return refuse_rest(at);
      if (request_.ops[at].kind == Kind::insert) {
        const size_t end = end_of_inserts(at);
        insert(at, end);
        at = end;
      } else {
        one(at++);
      }
    }
  }

 private:
  const std::string& ns_of(size_t at) const { return request_.namespaces[request_.ops[at].ns].ns; }

  void refuse_rest(size_t at) {
    results_.failed(at, request_.ops[at].kind, OperationError(ErrorCode::exceeded_memory_limit, results_.why_full()));
  }

  // Consecutive inserts into one collection are one batch.
  size_t end_of_inserts(size_t at) const {
    const size_t ns = request_.ops[at].ns;
    while (at < request_.ops.size() && request_.ops[at].kind == Kind::insert && request_.ops[at].ns == ns) ++at;
    return at;
  }

  void check_target(size_t at) const {
    check_collection_uuid(op_, request_.namespaces[request_.ops[at].ns].collection_uuid, ns_of(at));
  }

  // Documents that an earlier attempt has inserted are left out, and counted.
  void insert(size_t begin, size_t end) {
    std::vector<bson::DocumentView> documents;
    write::InsertOptions options{
        .ordered = request_.ordered, .keep_empty_timestamps = request_.keep_empty_timestamps, .places = {}};
    for (size_t at = begin; at < end; ++at) {
      if (op_.retry) op_.retry->at(at);
      if (op_.retry && op_.retry->executed()) continue;
      documents.push_back(request_.ops[at].document);
      options.places.push_back(at);
    }
    op_.services().metrics.operation(OpKind::insert).add(static_cast<int64_t>(end - begin));
    Statement statement(op_, ns_of(begin), request_.ops[begin].given);
    std::vector<bson::Document> errors;
    try {
      check_target(begin);
      if (!documents.empty()) errors = write::insert_documents(op_, ns_of(begin), documents, options).errors.documents();
    } catch (const OperationError& error) {
      statement.failed(error);
      op_.check_interrupt();
      for (size_t at = begin; at < end; ++at) {
        results_.failed(at, Kind::insert, error);
        if (request_.ordered) return;
      }
      return;
    }
    report(begin, end, errors);
  }

  // `errors` are those of the operations [begin, end), in their order.
  void report(size_t begin, size_t end, const std::vector<bson::Document>& errors) {
    size_t next = 0;
    for (size_t at = begin; at < end; ++at) {
      if (next == errors.size() || errors[next]["index"].as_int32() != static_cast<int32_t>(at)) {
        results_.inserted(at);
        continue;
      }
      results_.failed(at, errors[next++]);
      if (request_.ordered) return;
    }
  }

  void one(size_t at) {
    const BulkWriteRequest::Op& op = request_.ops[at];
    op_.services().metrics.operation(op.kind == Kind::update ? OpKind::update : OpKind::remove).add(1);
    Statement statement(op_, ns_of(at), op.given);
    if (op_.retry) op_.retry->batch(false);
    if (op_.retry) op_.retry->at(at);
    // If the log can't say whether it was executed, no statement can go on.
    if (op_.retry && op_.retry->executed()) {
      if (op.kind == Kind::update)
        results_.updated(at, write::executed_update(op_));
      else
        results_.removed(at, 1);
      return;
    }
    try {
      check_target(at);
      if (op.kind == Kind::update)
        results_.updated(at, update(at, op.update));
      else
        results_.removed(at, write::run_delete(op_, ns_of(at), op.selection).deleted);
    } catch (const OperationError& error) {
      statement.failed(error);
      op_.check_interrupt();
      results_.failed(at, op.kind, error);
    }
  }

  write::UpdateOutcome update(size_t at, const write::UpdateStatement& statement) {
    if (statement.selection.all && !statement.selection.sort.empty()) {
      throw OperationError(ErrorCode::failed_to_parse, "Cannot specify sort with multi=true");
    }
    return write::run_update(op_, ns_of(at), statement);
  }

  OperationContext& op_;
  const BulkWriteRequest& request_;
  Results results_;
};

class BulkWrite : public Command {
 public:
  std::string_view name() const override { return "bulkWrite"; }
  std::string_view help() const override { return "command to apply inserts, updates and deletes in bulk"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {
        "ops", "nsInfo", "ordered", "errorsOnly", "bypassDocumentValidation", "bypassEmptyTsReplacement",
        "let", "stmtId", "stmtIds", "cursor"};
    return names;
  }
  bool admin_only() const override { return true; }
  OpKind kind() const override { return OpKind::bulk_write; }
  bool writes() const override { return true; }
  bool stable_api() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::allowed; }
  bool retryable() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    BulkWriteRequest wanted;
    wanted.read(op, request);
    if (op.transaction) wanted.ordered = true;  // an error ends a transaction
    if (op.retry) op.retry->set_ids(wanted.statement_ids);
    Run run(op, wanted);
    run.run();
    reply_source(op, request, cursor_ns, run.results().take(), reply);
    run.results().append_sums(reply);
    if (op.retry) op.retry->append_retried(reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_bulk_write_command() {
  return std::make_unique<BulkWrite>();
}

}  // namespace server
