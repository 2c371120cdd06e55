#include "server/core/generic_arguments.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/default_concerns.h"
#include "server/core/operation.h"
#include "server/core/read_preference.h"
#include "server/core/services.h"
#include "server/core/stable_api.h"

namespace server {

using base::ErrorCode;
using base::OperationError;
using bson::Element;
using bson::Type;

namespace {

constexpr std::string_view known[] = {"$audit",
                                      "$client",
                                      "$clusterTime",
                                      "$configServerState",
                                      "$configTime",
                                      "$db",
                                      "$gleStats",
                                      "$oplogQueryData",
                                      "$queryOptions",
                                      "$readPreference",
                                      "$replData",
                                      "$topologyTime",
                                      "allowImplicitCollectionCreation",
                                      "apiDeprecationErrors",
                                      "apiStrict",
                                      "apiVersion",
                                      "autocommit",
                                      "clientOperationKey",
                                      "comment",
                                      "coordinator",
                                      "databaseVersion",
                                      "expectPrefix",
                                      "help",
                                      "lsid",
                                      "maxTimeMS",
                                      "maxTimeMSOpOnly",
                                      "mayBypassWriteBlocking",
                                      "readConcern",
                                      "serialization_context",
                                      "shardVersion",
                                      "startOrContinueTransaction",
                                      "startTransaction",
                                      "stmtId",
                                      "tracking_info",
                                      "txnNumber",
                                      "txnRetryCounter",
                                      "writeConcern"};
static_assert(std::is_sorted(std::begin(known), std::end(known)));

// Members alone send $gossip and some internal fields to each other; a standalone accepts and ignores them, as mongod does.

void apply_max_time(OperationContext& op, const Command& command, const Element& value) {
  if (!value.is_number()) throw OperationError(ErrorCode::bad_value, "maxTimeMS must be a number");
  const double ms = value.to_double();
  if (std::isnan(ms) || ms < 0 || ms > INT32_MAX) {
    throw OperationError(ErrorCode::bad_value,
                         std::to_string(value.to_int64()) + " value for maxTimeMS is out of range [0, 2147483647]");
  }
  if (ms != std::floor(ms)) throw OperationError(ErrorCode::bad_value, "maxTimeMS has non-integral value");
  // In a getMore, maxTimeMS says how long to wait for documents; there it is no time limit.
  if (ms > 0 && command.kind() != OpKind::get_more) op.set_max_time_ms(static_cast<int64_t>(ms));
}

bool boolean(const Element& value) {
  if (value.type() != Type::boolean) {
    throw OperationError(ErrorCode::type_mismatch, "BSON field 'APIParametersFromClient." + std::string(value.name) +
                                                       "' is the wrong type '" + std::string(bson::type_name(value.type())) +
                                                       "', expected type 'bool'");
  }
  return value.as_bool();
}

void check_api(const OperationContext& op, const Command& command) {
  const ApiParameters& api = op.api;
  if (api.version.empty()) {
    if (api.strict || api.deprecation_errors) {
      throw OperationError(4886600, "Provided apiStrict and/or apiDeprecationErrors without passing apiVersion");
    }
    return;
  }
  if (api.version != "1") throw OperationError(ErrorCode::api_version_error, "API version must be \"1\"");
  if (api.strict && !command.stable_api()) {
    throw OperationError(
        ErrorCode::api_strict_error,
        "Provided apiStrict:true, but the command " + std::string(command.name()) +
            " is not in API Version 1. Information on supported commands and migrations in API Version 1 can be found at "
            "https://dochub.mongodb.org/core/manual-versioned-api");
  }
}

std::optional<bson::Timestamp> time_of(const Arguments& arguments, std::string_view name) {
  const auto time = arguments.any(name);
  if (!time.exists()) return std::nullopt;
  if (time.type() != Type::timestamp) {
    throw OperationError(ErrorCode::type_mismatch, "\"" + std::string(name) +
                                                       "\" had the wrong type. Expected timestamp, found " +
                                                       std::string(bson::type_name(time.type())));
  }
  if (time.as_timestamp().packed() == 0)
    throw OperationError(ErrorCode::invalid_options, std::string(name) + " cannot be a null timestamp");
  return time.as_timestamp();
}

void check_times(const ReadConcern& concern, bool after_op_time) {
  const auto refuse = [](const char* why) { throw OperationError(ErrorCode::invalid_options, why); };
  const std::string& level = concern.level;
  if (concern.after_cluster_time && after_op_time) refuse("Can not specify both afterClusterTime and afterOpTime");
  if (concern.after_cluster_time && concern.at_cluster_time)
    refuse(
        "Specifying a timestamp for readConcern snapshot in a causally consistent session is not allowed. See "
        "https://www.mongodb.com/docs/manual/core/read-isolation-consistency-recency/#causal-consistency");
  if (after_op_time) refuse("afterOpTime is for the members' own use");
  if (concern.after_cluster_time && (level == "available" || level == "linearizable")) {
    refuse("afterClusterTime field can be set only if level is equal to majority, local, or snapshot");
  }
  if (concern.at_cluster_time && level != "snapshot") refuse("atClusterTime field can be set only if level is equal to snapshot");
}

void apply_read_concern(OperationContext& op, bson::DocumentView given, const Command& command) {
  const Arguments arguments("readConcern", given);
  arguments.only({"level", "afterClusterTime", "afterOpTime", "atClusterTime", "provenance", "allowTransactionTableSnapshot",
                  "$_waitLastStableRecoveryTimestamp"});
  const auto level = arguments.string("level");
  if (level && *level != "local" && *level != "available" && *level != "majority" && *level != "linearizable" &&
      *level != "snapshot") {
    throw OperationError(ErrorCode::bad_value,
                         "Enumeration value '" + std::string(*level) + "' for field 'readConcern.level' is not a valid value.");
  }
  op.read_concern.level = level.value_or("");
  op.read_concern.after_cluster_time = time_of(arguments, "afterClusterTime");
  op.read_concern.at_cluster_time = time_of(arguments, "atClusterTime");
  check_times(op.read_concern, given.has("afterOpTime"));
  const bool replicated = given.has("afterClusterTime") || given.has("afterOpTime") || given.has("atClusterTime") ||
                          (level && (*level == "linearizable" || *level == "snapshot"));
  if (level && *level != "local" && !op.in_transaction && !command.takes_read_concern() &&
      !(*level == "snapshot" && command.takes_snapshot())) {
    throw OperationError(ErrorCode::invalid_options, "Command " + std::string(command.name()) +
                                                         " does not support { readConcern: { level: \"" + std::string(*level) +
                                                         "\" } }");
  }
  const bool declared = op.read_concern.at_cluster_time.has_value();  // a standalone server has declared snapshots too
  if (replicated && !declared && !op.services().replica_set)
    throw OperationError(123, "node needs to be a replica set member to use read concern");
  if (op.read_concern.level == "snapshot" && !op.in_transaction && !command.takes_snapshot()) {
    throw OperationError(ErrorCode::invalid_options, "readConcern level snapshot is not valid for command " +
                                                         std::string(command.name()) + " outside of a transaction");
  }
}

[[noreturn]] void refuse_option(const char* why) {
  throw OperationError(ErrorCode::invalid_options, why);
}

void check_in_transaction(const OperationContext& op, const Command& command) {
  const auto refuse = [](const std::string& why) {
    throw OperationError(ErrorCode::operation_not_supported_in_transaction, why);
  };
  const std::string name(command.name());
  const auto allowed = command.in_transaction();
  if (name == "count") {
    refuse(
        "Cannot run 'count' in a multi-document transaction. Please see http://dochub.mongodb.org/core/transaction-count for a "
        "recommended alternative.");
  }
  if (allowed == Command::InTransaction::refused) refuse("Cannot run '" + name + "' in a multi-document transaction.");
  if (op.starts_transaction && allowed == Command::InTransaction::later)
    refuse("Cannot run '" + name + "' as the first operation of a multi-document transaction.");
  if (op.request().body.find("explain").truthy()) refuse("Cannot run 'explain' in a multi-document transaction.");
  const std::string& db = op.request().db;
  const auto target = op.request().body.first();
  if (target.is_string() && target.as_string() == "system.profile")
    refuse("Cannot run command against the '" + db + ".system.profile' namespace in a transaction.");
  const bool own = db == "admin" || db == "config" || db == "local";
  if (own && allowed == Command::InTransaction::allowed && !command.admin_only())
    refuse("Cannot run command against the '" + db + "' database in a transaction.");
  const std::string& level = op.read_concern.level;
  if (op.starts_transaction && !level.empty() && level != "local" && level != "majority" && level != "snapshot") {
    refuse_option(
        "The readConcern level must be either 'local' (default), 'majority' or 'snapshot' in order to run in a transaction");
  }
}

// Throws if these options don't belong together.
void check_transaction_options(const Element& autocommit, const Element& start) {
  if (start.exists() && !autocommit.exists())
    refuse_option("'startTransaction' field requires 'autocommit' field to also be specified");
  if (autocommit.exists() && autocommit.as_bool()) refuse_option("Specifying autocommit=true is not allowed.");
  if (start.exists() && !start.as_bool()) refuse_option("Specifying startTransaction=false is not allowed.");
}

Element boolean_field(const Element& field) {
  if (field.type() == Type::boolean) return field;
  throw OperationError(ErrorCode::type_mismatch, "BSON field 'OperationSessionInfo." + std::string(field.name) +
                                                     "' is the wrong type '" + std::string(bson::type_name(field.type())) +
                                                     "', expected type 'bool'");
}

void check_session(OperationContext& op, bool transaction) {
  if (op.lsid.exists()) {
    if (!op.lsid.is_object()) {
      throw OperationError(ErrorCode::type_mismatch, "BSON field 'OperationSessionInfo.lsid' is the wrong type '" +
                                                         std::string(bson::type_name(op.lsid.type())) +
                                                         "', expected type 'object'");
    }
    const Element id = op.lsid.as_document().find("id");
    if (!id.exists()) throw OperationError(40414, "BSON field 'OperationSessionInfo.lsid.id' is missing but a required field");
    if (id.type() != Type::binary || id.as_binary().subtype != 4 || id.as_binary().bytes.size() != 16) {
      throw OperationError(ErrorCode::invalid_uuid, "uuid must be a 16-byte binary field with UUID (4) subtype");
    }
  }
  if (!op.txn_number && !transaction) return;
  if (!op.lsid.exists())
    throw OperationError(ErrorCode::invalid_options, "Transaction number requires a session ID to be specified");
  if (!op.txn_number)
    throw OperationError(ErrorCode::invalid_options, "'autocommit' field requires a transaction number to also be specified");
  if (*op.txn_number < 0) throw OperationError(ErrorCode::invalid_options, "Transaction number cannot be negative");
  if (op.services().replica_set) return;
  throw OperationError(ErrorCode::illegal_operation, "Transaction numbers are only allowed on a replica set member or mongos");
}

}  // namespace

WriteConcern parse_write_concern(bson::DocumentView given, bool replicated) {
  WriteConcern concern;
  concern.given = !given.empty();
  bool fsync = false;
  for (const auto& field : given) {
    if (field.name == "w" && field.is_number()) {
      const double w = field.to_double();
      if (!(w >= 0 && w <= 50)) {
        throw OperationError(ErrorCode::failed_to_parse, "w has to be a non-negative number and not greater than 50; found: " +
                                                             std::to_string(field.to_int64()));
      }
      concern.members = field.to_int64();
      concern.w_given = true;
    } else if (field.name == "w" && field.is_string()) {
      concern.mode = field.as_string();
      concern.w_given = true;
      if (!concern.majority() && !replicated) {
        throw OperationError(ErrorCode::bad_value, "cannot use non-majority 'w' mode " + std::string(field.as_string()) +
                                                       " when a host is not replicated");
      }
    } else if (field.name == "w" && field.is_object() && replicated) {
      concern.tags = bson::Document(field.as_document());
      concern.w_given = true;
      if (concern.tags.empty()) throw OperationError(ErrorCode::failed_to_parse, "tagged write concern requires tags");
      for (const auto& tag : concern.tags) {
        if (!tag.is_number()) {
          throw OperationError(
              ErrorCode::failed_to_parse,
              "tags must be a single level document with only number values; found: " + std::string(bson::type_name(tag.type())));
        }
      }
    } else if (field.name == "w") {
      throw OperationError(ErrorCode::failed_to_parse,
                           "w has to be a number, string, or object; found: " + std::string(bson::type_name(field.type())));
    } else if (field.name == "j" || field.name == "fsync") {
      if (!field.is_number() && field.type() != Type::boolean && !field.is_nullish()) {
        throw OperationError(ErrorCode::failed_to_parse, std::string(field.name) + " must be numeric or a boolean value");
      }
      (field.name == "j" ? concern.journal : fsync) = field.truthy();
    } else if (field.name == "wtimeout") {
      if (!field.is_number() && !field.is_nullish()) {
        throw OperationError(ErrorCode::type_mismatch, "BSON field 'WriteConcernOptions.wtimeout' is the wrong type '" +
                                                           std::string(bson::type_name(field.type())) +
                                                           "', expected types '[long, int, decimal, double]'");
      }
      // Longer ones end with the same 24 days, since deadlines count in microseconds.
      concern.timeout_ms = std::min<int64_t>(field.to_int64(), INT32_MAX);
    } else if (field.name != "wElectionId" && field.name != "wOpTime" && field.name != "getLastError" &&
               field.name != "provenance") {
      throw OperationError(ErrorCode::failed_to_parse, "unrecognized write concern field: " + std::string(field.name));
    }
  }
  if (concern.journal && fsync) throw OperationError(ErrorCode::failed_to_parse, "fsync and j options cannot be used together");
  // An fsync of everything is more than the journal promises, and includes it.
  concern.journal = concern.journal || fsync;
  if (concern.members > 1 && !replicated)
    throw OperationError(ErrorCode::bad_value, "cannot use 'w' > 1 when a host is not replicated");
  return concern;
}

bool is_generic_argument(std::string_view name) {
  return std::binary_search(std::begin(known), std::end(known), name);
}

void apply_generic_arguments(OperationContext& op, const Command& command) {
  const Request& request = op.request();
  Element autocommit, start, read_concern, write_concern;
  auto at = request.body.begin();
  // The first field is the command itself, whatever its name.
  if (at != request.body.end()) ++at;
  for (; at != request.body.end(); ++at) {
    const Element& field = *at;
    if (field.name == "$db" || field.is_nullish()) continue;
    if (field.name == "lsid") {
      op.lsid = field;
    } else if (field.name == "$readPreference") {
      check_read_preference(field);
    } else if (field.name == "maxTimeMS") {
      apply_max_time(op, command, field);
    } else if (field.name == "txnNumber") {
      if (field.type() != Type::int64) {
        throw OperationError(ErrorCode::type_mismatch, "BSON field 'OperationSessionInfo.txnNumber' is the wrong type '" +
                                                           std::string(bson::type_name(field.type())) +
                                                           "', expected type 'long'");
      }
      op.txn_number = field.as_int64();
    } else if (field.name == "autocommit") {
      autocommit = boolean_field(field);
    } else if (field.name == "startTransaction") {
      start = boolean_field(field);
    } else if (field.name == "apiVersion") {
      if (!field.is_string()) {
        throw OperationError(ErrorCode::type_mismatch, "BSON field 'APIParametersFromClient.apiVersion' is the wrong type '" +
                                                           std::string(bson::type_name(field.type())) +
                                                           "', expected type 'string'");
      }
      op.api.version = field.as_string();
    } else if (field.name == "apiStrict") {
      op.api.strict = boolean(field);
    } else if (field.name == "apiDeprecationErrors") {
      op.api.deprecation_errors = boolean(field);
    } else if (field.name == "writeConcern") {
      if (!field.is_object()) {
        throw OperationError(ErrorCode::type_mismatch, "\"writeConcern\" had the wrong type. Expected object, found " +
                                                           std::string(bson::type_name(field.type())));
      }
      write_concern = field;
    } else if (field.name == "readConcern") {
      if (!field.is_object()) {
        throw OperationError(ErrorCode::type_mismatch, "\"readConcern\" had the wrong type. Expected object, found " +
                                                           std::string(bson::type_name(field.type())));
      }
      read_concern = field;
    }
  }
  op.in_transaction = autocommit.exists();
  op.starts_transaction = start.exists();
  check_transaction_options(autocommit, start);
  check_session(op, op.in_transaction);
  if (write_concern.exists()) {
    if (op.in_transaction && !command.ends_transaction())
      refuse_option("writeConcern is not allowed within a multi-statement transaction");
    if (!command.takes_write_concern()) refuse_option("Command does not support writeConcern");
    op.write_concern = parse_write_concern(write_concern.as_document(), op.services().replica_set != nullptr);
  }
  if (read_concern.exists()) {
    if (op.in_transaction && !op.starts_transaction)
      refuse_option("Only the first command in a transaction may specify a readConcern");
    apply_read_concern(op, read_concern.as_document(), command);
  }
  const bool given_level = read_concern.exists() && !read_concern.as_document().empty();
  if (!given_level && command.takes_read_concern() && op.services().default_concerns && request.db != "local") {
    op.read_concern.level = op.services().default_concerns->current()->read_level;
  }
  check_api(op, command);
  if (op.in_transaction) check_in_transaction(op, command);
}

void check_known_fields(const Command& command, const Request& request, bool api_strict) {
  const auto fields = command.fields();
  if (!fields) return;
  auto first = request.body.begin();
  if (first != request.body.end()) ++first;
  for (auto at = first; at != request.body.end(); ++at) {
    const std::string_view name = at->name;
    // The loop has few fields to look at: it ends at the first name that is unknown or came before.
    bool repeated = false;
    for (auto before = first; before != at && !repeated; ++before) repeated = before->name == name;
    if (repeated)
      throw OperationError(
          40413, "BSON field '" + std::string(command.parser_name()) + "." + std::string(name) + "' is a duplicate field");
    if (!is_generic_argument(name) && std::find(fields->begin(), fields->end(), name) == fields->end()) {
      throw OperationError(
          40415, "BSON field '" + std::string(command.parser_name()) + "." + std::string(name) + "' is an unknown field.");
    }
    if (api_strict) check_stable_field(command, name);
  }
}

}  // namespace server
