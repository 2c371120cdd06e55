// What a replica set asks of every command: who may run it where, what it has
// to wait for, and the times in its reply. On a standalone server none of it.
#pragma once

#include "bson/builder.h"
#include "server/dispatch/dispatch.h"

namespace server {

// $clusterTime of the request: the set's time goes on to it. Throws ClusterTimeFailsRateLimiter for one from a far future.
void learn_cluster_time(OperationContext& op);
// May this member run it? Throws NotWritablePrimary, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary.
void check_member(const OperationContext& op, const Command& command);
// Before anything is read whose readConcern asks for what the majority has.
void begin_read(OperationContext& op);
// Until what the readConcern asks for can be read. Throws InvalidOptions for a time to come, MaxTimeMSExpired.
void await_read_concern(OperationContext& op);
// What the client's writes need to be retried safely.
void begin_retryable(OperationContext& op, const Command& command);

// What the reply has to wait for; nothing where it need not.
std::optional<Dispatcher::Reply::Acknowledgement> acknowledgement(const OperationContext& op, const Command& command);
// The same of a command that ran and failed with `code`: what it did before, or what it failed because of, may be taken back yet.
std::optional<Dispatcher::Reply::Acknowledgement> acknowledgement_of_failure(const OperationContext& op, const Command& command,
                                                                             base::ErrorCode code);
// $clusterTime and operationTime.
void append_times(const OperationContext& op, bson::Builder& reply);
// errorLabels, where a driver may try again.
void append_labels(const OperationContext& op, const Command* command, base::ErrorCode code, bson::Builder& reply);
// topologyVersion, with errors about this member's state: a driver that knows this version already needn't look again.
void append_topology(const Services& services, base::ErrorCode code, bson::Builder& reply);
bool can_retry_after(base::ErrorCode code);

// The reply to a read that can't be said to stand.
bson::Document failed_read(const Services& services, const replication::WriteConcernFailure& why);

// The reply with a writeConcernError.
bson::Document with_write_concern_error(const Services& services, bson::DocumentView reply,
                                        const Dispatcher::Reply::Acknowledgement& asked,
                                        const replication::WriteConcernFailure& failure);

}  // namespace server
