#include "server/dispatch/transaction_rules.h"

#include "replication/session_store.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"
#include "server/core/transaction_registry.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

std::unique_ptr<TransactionHold> start(OperationContext& op, bson::BytesView session, int64_t number) {
  auto hold = op.services().transactions->start(op, session, number);
  // Retryable writes use the same numbers.
  try {
    if (op.services().session_store->begin_transaction(session, number, op.interrupted())) return hold;
  } catch (...) {
    hold->abort();
    throw;
  }
  hold->abort();
  throw OperationError(ErrorCode::conflicting_operation_in_progress,
                       "Only servers in a sharded cluster can start a new transaction at the active transaction number");
}

[[noreturn]] void ended(const OperationContext& op, std::string_view how) {
  throw OperationError(
      how == "committed" ? ErrorCode::transaction_committed : ErrorCode::no_such_transaction,
      "Transaction with { txnNumber: " + std::to_string(*op.txn_number) + " } has been " + std::string(how) + ".");
}

}  // namespace

std::unique_ptr<TransactionHold> enter_transaction(OperationContext& op, const Command& command) {
  if (!op.in_transaction) return nullptr;
  TransactionRegistry& transactions = *op.services().transactions;
  const bson::Bytes session = session_key(op.lsid.as_document(), op.client());
  if (!op.starts_transaction && !transactions.knows(session, *op.txn_number)) {
    // It may have ended before a restart, or on another primary. The commands that end it look it up.
    if (command.ends_transaction()) return nullptr;
    if (op.services().session_store->committed_transaction(session, *op.txn_number, op.interrupted())) ended(op, "committed");
  }
  auto hold = op.starts_transaction ? start(op, session, *op.txn_number) : transactions.resume(op, session, *op.txn_number);
  op.transaction_hold = hold.get();
  op.transaction = hold->transaction();
  if (op.transaction) {
    op.moment = op.transaction->moment();
  } else if (!command.ends_transaction()) {
    ended(op, hold->state() == TransactionState::committed ? "committed" : "aborted");
  }
  return hold;
}

void abort_after_error(TransactionHold& hold, bool failed, bson::DocumentView reply) {
  if (!hold.transaction()) return;
  const auto errors = reply.find("nErrors");  // of a bulkWrite
  if (failed || reply.has("writeErrors") || (errors.is_number() && errors.to_int64() > 0)) hold.abort();
}

}  // namespace server
