// Dispatch finds the client's transaction that a command belongs to, and ends it after an error.
#pragma once

#include <memory>

#include "bson/document.h"

namespace server {

class Command;
class OperationContext;
class TransactionHold;

// Begins the operation's transaction or goes on with it, and sets op.transaction; nullptr: the operation belongs to none. Throws
// NoSuchTransaction (251), TransactionCommitted (256), TransactionTooOld (225), ConflictingOperationInProgress (117).
std::unique_ptr<TransactionHold> enter_transaction(OperationContext& op, const Command& command);

// Aborts the transaction if one of its statements failed. `reply` is what the client gets; `failed`: it is an error.
void abort_after_error(TransactionHold& hold, bool failed, bson::DocumentView reply);

}  // namespace server
