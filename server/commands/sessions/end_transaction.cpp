#include "server/commands/sessions/end_transaction.h"

#include "base/error.h"
#include "replication/coordinator.h"
#include "replication/session_store.h"
#include "server/core/client_transaction.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"
#include "server/core/transaction_registry.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

[[noreturn]] void none(const OperationContext& op, const char* why) {
  throw OperationError(ErrorCode::no_such_transaction,
                       "Transaction with { txnNumber: " + std::to_string(*op.txn_number) + " } " + why);
}

}  // namespace

void EndTransaction::run(OperationContext& op, const Request&, bson::Builder&) {
  if (!op.in_transaction)
    throw OperationError(ErrorCode::command_failed, std::string(name()) + " must be run within a transaction");
  TransactionHold* const hold = op.transaction_hold;
  if (hold && hold->transaction()) {
    if (hold->transaction()->term() != op.services().replica_set->write_term()) none(op, "began under another primary.");
    return end(op, *hold);
  }
  if (hold && hold->state() == TransactionState::aborted) none(op, "has been aborted.");
  const auto committed = op.services().session_store->committed_transaction(session_key(op.lsid.as_document(), op.client()),
                                                                            *op.txn_number, op.interrupted());
  // A transaction that changed nothing has left no record. The number may also be that of a retryable write.
  if (!committed && (!hold || hold->state() != TransactionState::committed))
    none(op, "isn't in progress, and the session has no record of it.");
  if (committed) op.last_write = committed->ts;
  committed_before(op);
}

}  // namespace server
