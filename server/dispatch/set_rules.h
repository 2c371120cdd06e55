// A replica set has rules for every command: which member may run it, what it has
// to wait for, and which times its reply has. On a standalone server none of them
// applies.
#pragma once

#include "bson/builder.h"
#include "server/dispatch/dispatch.h"

namespace server {

// Advances the set's time to the request's $clusterTime. Throws ClusterTimeFailsRateLimiter for a time too far in the future.
void learn_cluster_time(OperationContext& op);
// Throws NotWritablePrimary, NotPrimaryNoSecondaryOk or NotPrimaryOrSecondary if this member may not run the command.
void check_member(const OperationContext& op, const Command& command);
// Called before a read whose readConcern asks for majority-committed data.
void begin_read(OperationContext& op);
// Waits until the data that the readConcern asks for can be read. Throws InvalidOptions for a time in the future,
// MaxTimeMSExpired.
void await_read_concern(OperationContext& op);
// Prepares the session's history, so that a retried write takes effect once.
void begin_retryable(OperationContext& op, const Command& command);

// Returns what the reply has to wait for; nullopt: nothing.
std::optional<Dispatcher::Reply::Acknowledgement> acknowledgement(const OperationContext& op, const Command& command);
// Does the same for a command that ran and failed with `code`: what it wrote before, or the state that made it fail, may still be
// rolled back.
std::optional<Dispatcher::Reply::Acknowledgement> acknowledgement_of_failure(const OperationContext& op, const Command& command,
                                                                             base::ErrorCode code);
// Appends $clusterTime and operationTime.
void append_times(const OperationContext& op, bson::Builder& reply);
// Appends errorLabels if a driver may try again. `of_write_concern`: the command itself has succeeded.
void append_labels(const OperationContext& op, const Command* command, base::ErrorCode code, bool of_write_concern,
                   bson::Builder& reply);
// Appends topologyVersion to errors about this member's state: a driver that knows this version already needn't ask again.
void append_topology(const Services& services, base::ErrorCode code, bson::Builder& reply);
bool can_retry_after(base::ErrorCode code);

// Returns the reply to a read whose data may have been rolled back.
bson::Document failed_read(const Services& services, const replication::WriteConcernFailure& why);

// Returns the reply with a writeConcernError.
bson::Document with_write_concern_error(const Services& services, bson::DocumentView reply,
                                        const Dispatcher::Reply::Acknowledgement& asked,
                                        const replication::WriteConcernFailure& failure);

}  // namespace server
