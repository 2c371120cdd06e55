#include "server/write/retry.h"

#include <limits>

#include "replication/coordinator.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/fail_points.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "storage/engine/transaction.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;
using replication::SessionWrite;

namespace {

constexpr const char* point = "onPrimaryTransactionalWrite";
constexpr const char* failing = "failBeforeCommitExceptionCode";

bool closes(bson::DocumentView data) {
  const auto close = data.find("closeConnection");
  return !close.exists() || close.truthy();
}

}  // namespace

std::vector<int32_t> statement_ids(std::string_view command, bson::DocumentView body, size_t statements) {
  const Arguments arguments(std::string(command), body);
  const auto check = [](const bson::Element& id, const std::string& name) {
    if (id.type() == bson::Type::int32) return;
    throw OperationError(ErrorCode::type_mismatch, "BSON field '" + name + "' is the wrong type '" +
                                                       std::string(bson::type_name(id.type())) + "', expected type 'int'");
  };
  const auto one = arguments.any("stmtId");
  if (one.exists()) check(one, arguments.dotted("stmtId"));
  std::vector<int32_t> ids;
  if (const auto list = arguments.array("stmtIds")) {
    for (const auto& id : *list) {
      check(id, arguments.dotted("stmtIds") + "." + std::string(id.name));
      ids.push_back(id.as_int32());
    }
    if (one.exists()) {
      throw OperationError(ErrorCode::invalid_options, std::string("May not specify both stmtId and stmtIds in ") +
                                                           (command == "bulkWrite" ? "bulkWrite" : "write") + " command.");
    }
    if (ids.size() == statements) return ids;
    throw OperationError(ErrorCode::invalid_length, "Number of statement ids must match the number of batch entries. Got " +
                                                        std::to_string(ids.size()) + " statement ids but " +
                                                        std::to_string(statements) + " operations.");
  }
  const int64_t first = one.exists() ? one.as_int32() : 0;
  if (first + static_cast<int64_t>(statements) - 1 > std::numeric_limits<int32_t>::max()) {
    throw OperationError(ErrorCode::overflow,
                         "stmtId " + std::to_string(first) + " leaves no ids for " + std::to_string(statements) + " statements");
  }
  for (size_t i = 0; i < statements; ++i) ids.push_back(static_cast<int32_t>(first + static_cast<int64_t>(i)));
  return ids;
}

bool Retry::executed() {
  if (!history_->executed(statement())) return false;
  retried_.push_back(statement());
  return true;
}

bson::Document Retry::entry() const {
  const auto stamp = history_->executed(statement());
  auto entry = stamp ? op_.services().oplog->find(*stamp) : std::nullopt;
  if (!entry) {
    throw OperationError(ErrorCode::incomplete_transaction_history,
                         "oplog no longer contains the complete write history of this transaction, log with "
                         "statement " +
                             std::to_string(statement()) + " cannot be found");
  }
  return std::move(*entry);
}

bson::Document Retry::image() const {
  const auto stamp = history_->executed(statement());
  auto image = stamp ? history_->image(*stamp) : std::nullopt;
  if (!image) {
    throw OperationError(ErrorCode::incomplete_transaction_history,
                         "the image of a retried findAndModify is no longer kept: the session has gone on since");
  }
  return std::move(*image);
}

void Retry::save(storage::Transaction& transaction) {
  history_->save(transaction);
  // The error aborts the whole transaction, since a batch's caller doesn't catch it.
  if (batch_) fail_if_asked();
  const auto fault = op_.services().fail_points.strike(point, [](bson::DocumentView data) { return !data.has(failing); });
  if (fault && closes(*fault)) transaction.after_commit([this] { op_.close_connection = true; });
}

void Retry::fail_if_asked() {
  const auto fault = op_.services().fail_points.strike(point, [](bson::DocumentView data) { return data.has(failing); });
  if (!fault) return;
  op_.close_connection = closes(*fault);
  throw OperationError(static_cast<int32_t>(fault->find(failing).to_int64()),
                       "Failing write for transaction number " + std::to_string(*op_.txn_number) +
                           " due to failpoint. The write must not be reflected.");
}

SessionWrite Retry::before(bool with_image) {
  if (!batch_) {
    // Nothing has been done yet, so a write that fails here leaves nothing behind in its transaction.
    fail_if_asked();
    history_->begin();
  }
  return history_->next(statement(), with_image ? image_ : SessionWrite::Image::none);
}

void Retry::after(storage::Transaction& transaction, storage::Stamp stamp, const bson::DocumentView* image) {
  history_->wrote(statement(), {stamp, op_.services().replica_set->write_term()});
  if (image && image_ != SessionWrite::Image::none) history_->keep_image(transaction, image_, *image);
  if (!batch_) save(transaction);
}

void Retry::append_retried(bson::Builder& reply) const {
  if (retried_.empty()) return;
  auto list = reply.array("retriedStmtIds");
  for (int32_t id : retried_) list.append(id);
}

void check_retryable(std::string_view ns) {
  if (ns != replication::session_records_ns && ns != replication::session_images_ns) return;
  throw OperationError(ErrorCode::illegal_operation, "Retryable writes to " + std::string(ns) + " are not allowed");
}

void check_single(const OperationContext& op, bool multi, const char* option) {
  if (op.retry && multi) {
    throw OperationError(ErrorCode::invalid_options, std::string("Cannot use (or request) retryable writes with ") + option);
  }
}

}  // namespace server::write
