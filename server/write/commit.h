// The commit makes a client's transaction happen: it replays the changes that its statements drafted in one storage
// transaction with timestamps, entries in the log, and the session's record.
#pragma once

namespace server {
class ClientTransaction;
class OperationContext;
}  // namespace server

namespace server::write {

// The operation holds the primary. Throws TransientTransactionError if others have changed the same documents meanwhile; nothing
// is changed then, except that collections and indexes may exist that the transaction would have created.
void commit(OperationContext& op, ClientTransaction& transaction);

}  // namespace server::write
