// The three kinds of error (see docs/ARCHITECTURE.md):
//
//   an expected answer           std::optional, Result<T>
//   this operation cannot go on  throw OperationError{code, message}
//   a bug                        base::check(condition)
//
// Codes are MongoDB's: a driver sees the code that was thrown.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace base {

// The formatter would nest one X in the other.
// clang-format off
#define PALIMPSEST_ERROR_CODES(X)                                                                 \
  X(ok, 0, "OK") X(internal_error, 1, "InternalError") X(bad_value, 2, "BadValue")               \
  X(no_such_key, 4, "NoSuchKey") X(graph_contains_cycle, 5, "GraphContainsCycle")               \
  X(host_unreachable, 6, "HostUnreachable") X(host_not_found, 7, "HostNotFound")                 \
  X(unknown_error, 8, "UnknownError") X(failed_to_parse, 9, "FailedToParse")                     \
  X(cannot_mutate_object, 10, "CannotMutateObject") X(user_not_found, 11, "UserNotFound")        \
  X(unsupported_format, 12, "UnsupportedFormat") X(unauthorized, 13, "Unauthorized")             \
  X(type_mismatch, 14, "TypeMismatch") X(overflow, 15, "Overflow")                               \
  X(invalid_length, 16, "InvalidLength") X(protocol_error, 17, "ProtocolError")                  \
  X(authentication_failed, 18, "AuthenticationFailed") X(illegal_operation, 20, "IllegalOperation") \
  X(namespace_not_found, 26, "NamespaceNotFound") X(index_not_found, 27, "IndexNotFound")        \
  X(path_not_viable, 28, "PathNotViable") X(already_initialized, 23, "AlreadyInitialized")       \
  X(lock_timeout, 24, "LockTimeout")                                                             \
  X(conflicting_update_operators, 40, "ConflictingUpdateOperators")                              \
  X(cursor_not_found, 43, "CursorNotFound") X(namespace_exists, 48, "NamespaceExists")           \
  X(max_time_ms_expired, 50, "MaxTimeMSExpired") X(dollar_prefixed_field_name, 52, "DollarPrefixedFieldName") \
  X(invalid_id_field, 53, "InvalidIdField") X(invalid_dbref, 55, "InvalidDBRef")                 \
  X(empty_field_name, 56, "EmptyFieldName") X(dotted_field_name, 57, "DottedFieldName")          \
  X(command_not_found, 59, "CommandNotFound") X(database_not_found, 60, "DatabaseNotFound")      \
  X(write_concern_failed, 64, "WriteConcernFailed") X(immutable_field, 66, "ImmutableField")     \
  X(cannot_create_index, 67, "CannotCreateIndex") X(index_already_exists, 68, "IndexAlreadyExists") \
  X(invalid_options, 72, "InvalidOptions") X(invalid_namespace, 73, "InvalidNamespace")          \
  X(node_not_found, 74, "NodeNotFound") X(no_replication_enabled, 76, "NoReplicationEnabled")    \
  X(unknown_repl_write_concern, 79, "UnknownReplWriteConcern") X(index_options_conflict, 85, "IndexOptionsConflict") \
  X(index_key_specs_conflict, 86, "IndexKeySpecsConflict") X(network_timeout, 89, "NetworkTimeout") \
  X(shutdown_in_progress, 91, "ShutdownInProgress") X(read_concern_majority_not_enabled, 148, "ReadConcernMajorityNotEnabled") \
  X(operation_failed, 96, "OperationFailed") X(write_conflict, 112, "WriteConflict")             \
  X(command_not_supported, 115, "CommandNotSupported") X(exceeded_memory_limit, 146, "ExceededMemoryLimit") \
  X(view_depth_limit_exceeded, 165, "ViewDepthLimitExceeded") X(command_not_supported_on_view, 166, "CommandNotSupportedOnView") \
  X(option_not_supported_on_view, 167, "OptionNotSupportedOnView") X(invalid_pipeline_operator, 168, "InvalidPipelineOperator") \
  X(document_validation_failure, 121, "DocumentValidationFailure") X(capped_position_lost, 136, "CappedPositionLost") \
  X(incompatible_collation_version, 161, "IncompatibleCollationVersion") X(query_plan_killed, 175, "QueryPlanKilled") \
  X(invalid_index_specification_option, 197, "InvalidIndexSpecificationOption") X(invalid_uuid, 207, "InvalidUUID") \
  X(ambiguous_index_key_pattern, 181, "AmbiguousIndexKeyPattern") X(cannot_build_index_keys, 201, "CannotBuildIndexKeys") \
  X(no_such_session, 206, "NoSuchSession") X(transaction_too_old, 225, "TransactionTooOld") X(not_implemented, 238, "NotImplemented") \
  X(snapshot_too_old, 239, "SnapshotTooOld") X(no_such_transaction, 251, "NoSuchTransaction")    \
  X(conflicting_operation_in_progress, 117, "ConflictingOperationInProgress")                   \
  X(command_failed, 125, "CommandFailed") X(no_sharding_enabled, 193, "NoShardingEnabled")       \
  X(no_matching_document, 47, "NoMatchingDocument") X(invalid_resume_token, 260, "InvalidResumeToken") \
  X(change_stream_fatal_error, 280, "ChangeStreamFatalError") X(change_stream_history_lost, 286, "ChangeStreamHistoryLost") \
  X(snapshot_unavailable, 246, "SnapshotUnavailable") X(transaction_committed, 256, "TransactionCommitted") \
  X(operation_not_supported_in_transaction, 263, "OperationNotSupportedInTransaction")          \
  X(transaction_exceeded_lifetime_limit_seconds, 290, "TransactionExceededLifetimeLimitSeconds") \
  X(transaction_too_large_for_cache, 388, "TransactionTooLargeForCache")                        \
  X(query_exceeded_memory_limit_no_disk_use_allowed, 292, "QueryExceededMemoryLimitNoDiskUseAllowed") \
  X(no_query_execution_plans, 291, "NoQueryExecutionPlans") X(api_strict_error, 323, "APIStrictError") \
  X(api_version_error, 322, "APIVersionError") X(not_writable_primary, 10107, "NotWritablePrimary") \
  X(bson_object_too_large, 10334, "BSONObjectTooLarge") X(duplicate_key, 11000, "DuplicateKey")  \
  X(interrupted_at_shutdown, 11600, "InterruptedAtShutdown") X(interrupted, 11601, "Interrupted") \
  X(out_of_disk_space, 14031, "OutOfDiskSpace") X(data_corruption_detected, 301, "DataCorruptionDetected") \
  X(invalid_bson, 22, "InvalidBSON") X(object_is_busy, 314, "ObjectIsBusy") X(user_writes_blocked, 371, "UserWritesBlocked") \
  X(key_too_long, 17280, "KeyTooLong") X(conversion_failure, 241, "ConversionFailure") X(compressor_mismatch, 15975, "Location15975") \
  X(invalid_regex, 51091, "Location51091") X(invalid_replica_set_config, 93, "InvalidReplicaSetConfig") \
  X(not_yet_initialized, 94, "NotYetInitialized") X(not_secondary, 95, "NotSecondary")           \
  X(unsatisfiable_write_concern, 100, "UnsatisfiableWriteConcern")                               \
  X(new_config_incompatible, 103, "NewReplicaSetConfigurationIncompatible")                      \
  X(node_not_electable, 104, "NodeNotElectable") X(inconsistent_set_names, 108, "InconsistentReplicaSetNames") \
  X(cannot_initialize_node_with_data, 110, "CannotInitializeNodeWithData")                       \
  X(not_a_replica_set, 123, "NotAReplicaSet") X(read_concern_majority_not_available_yet, 134, "ReadConcernMajorityNotAvailableYet") \
  X(fail_point_set_failed, 266, "FailPointSetFailed") X(primary_stepped_down, 189, "PrimarySteppedDown") \
  X(cluster_time_fails_rate_limiter, 205, "ClusterTimeFailsRateLimiter")                         \
  X(incomplete_transaction_history, 217, "IncompleteTransactionHistory") X(exceeded_time_limit, 262, "ExceededTimeLimit") \
  X(socket_exception, 9001, "SocketException") X(interrupted_due_to_state_change, 11602, "InterruptedDueToReplStateChange") \
  X(not_primary_no_secondary_ok, 13435, "NotPrimaryNoSecondaryOk") X(not_primary_or_secondary, 13436, "NotPrimaryOrSecondary")
// clang-format on

// A code that has no name above is still a valid value: MongoDB numbers many
// query errors without naming them ("Location40353").
enum class ErrorCode : int32_t {
#define PALIMPSEST_ERROR_ENUM(name, number, text) name = number,
  PALIMPSEST_ERROR_CODES(PALIMPSEST_ERROR_ENUM)
#undef PALIMPSEST_ERROR_ENUM
};

// Returns "BadValue", or "Location40353" for a code without a name.
std::string code_name(ErrorCode code);

class OperationError : public std::runtime_error {
 public:
  OperationError(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  OperationError(int32_t location, const std::string& message) : OperationError(static_cast<ErrorCode>(location), message) {}

  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// Stops the process, in release builds too, when a condition fails that only a bug can break.
[[noreturn]] void check_failed(std::string_view what, std::string_view where);

inline void check(bool holds, std::string_view what = "invariant", std::string_view where = __builtin_FUNCTION()) {
  if (!holds) [[unlikely]]
    check_failed(what, where);
}

}  // namespace base
