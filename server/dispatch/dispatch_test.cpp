#include "server/dispatch/dispatch.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "server/assembly/assembly.h"
#include "server/core/arguments.h"
#include "server/core/client.h"
#include "server/core/command_registry.h"
#include "server/core/generic_arguments.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {
namespace {

Options without_storage() {
  Options options;
  options.dbpath.clear();
  return options;
}

// Returns the error of a command as "code codeName: errmsg"; "ok" if it succeeds.
std::string outcome(Assembly& server, const std::string& db, const std::string& command) {
  const auto reply = server.run(db, bson::json(command));
  if (reply.find("ok").to_double() == 1) return "ok";
  return std::to_string(reply.find("code").as_int32()) + " " + std::string(reply.find("codeName").as_string()) + ": " +
         std::string(reply.find("errmsg").as_string());
}

class Write : public Command {
 public:
  std::string_view name() const override { return "write"; }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view known[] = {"limit", "fail"};
    return known;
  }
  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    reply.append("before", "the failure");
    const Arguments arguments(request);
    if (arguments.loose_boolean("fail").value_or(false)) throw std::runtime_error("a surprise");
    reply.append("limit", arguments.unsigned_integer("limit").value_or(-1));
    reply.append("j", op.write_concern.journal);
  }
};

}  // namespace

TEST_CASE("errors carry MongoDB's codes, names and words") {
  Assembly server(without_storage());
  CHECK(outcome(server, "admin", "{ping: 1}") == "ok");
  CHECK(outcome(server, "admin", "{atlasVersion: 1}") == "59 CommandNotFound: no such command: 'atlasVersion'");
  CHECK(outcome(server, "a b", "{ping: 1}") == "73 InvalidNamespace: Invalid database name: 'a b'");
  CHECK(outcome(server, "", "{ping: 1}") == "73 InvalidNamespace: Invalid database name: ''");
  CHECK(outcome(server, "shop@dev~2", "{ping: 1}") == "ok");
  CHECK(outcome(server, "test", "{getLog: '*'}") == "13 Unauthorized: getLog may only be run against the admin database.");
  CHECK(outcome(server, "admin", "{getLog: 'x'}") == "96 OperationFailed: No log named 'x'");
  CHECK(outcome(server, "admin", "{getParameter: 1, nonsense: 1}") == "72 InvalidOptions: no option found to get");
  CHECK(outcome(server, "admin", "{setParameter: 1, nonsense: 1}") ==
        "72 InvalidOptions: attempted to set unrecognized parameter [nonsense], use help:true to see options ");
  CHECK(outcome(server, "admin", "{setParameter: 1, featureCompatibilityVersion: '6.0'}") ==
        "20 IllegalOperation: not allowed to change [featureCompatibilityVersion] at runtime");
}

TEST_CASE("arguments that every command may carry are checked") {
  Assembly server(without_storage());
  CHECK(outcome(server, "admin", "{ping: 1, comment: 'c', $readPreference: {mode: 'primary'}, maxTimeMS: 50}") == "ok");
  CHECK(outcome(server, "admin", "{ping: 1, maxTimeMS: 'x'}") == "2 BadValue: maxTimeMS must be a number");
  CHECK(outcome(server, "admin", "{ping: 1, maxTimeMS: -1}") ==
        "2 BadValue: -1 value for maxTimeMS is out of range [0, 2147483647]");
  CHECK(outcome(server, "admin", "{ping: 1, apiVersion: '2'}") == "322 APIVersionError: API version must be \"1\"");
  CHECK(outcome(server, "admin", "{ping: 1, apiVersion: '1', apiStrict: true}") == "ok");
  CHECK(outcome(server, "admin", "{features: 1, apiVersion: '1', apiStrict: true}")
            .starts_with("323 APIStrictError: Provided apiStrict:true, but the command features is not in API Version 1."));
  CHECK(outcome(server, "admin", "{ping: 1, apiStrict: true}").starts_with("4886600 "));
  CHECK(outcome(server, "admin", "{ping: 1, writeConcern: {w: 1}}") ==
        "72 InvalidOptions: Command does not support writeConcern");
  CHECK(outcome(server, "admin", "{ping: 1, readConcern: {level: 'local'}}") == "ok");
  CHECK(outcome(server, "admin", "{ping: 1, readConcern: {level: 'odd'}}") ==
        "2 BadValue: Enumeration value 'odd' for field 'readConcern.level' is not a valid value.");
  CHECK(outcome(server, "admin", "{ping: 1, lsid: {}}") ==
        "40414 Location40414: BSON field 'OperationSessionInfo.lsid.id' is missing but a required field");
  CHECK(outcome(server, "admin",
                "{ping: 1, lsid: {id: {$binary: {base64: 'AAAAAAAAAAAAAAAAAAAAAA==', subType: '04'}}}, txnNumber: {$numberLong: "
                "'1'}}") == "20 IllegalOperation: Transaction numbers are only allowed on a replica set member or mongos");
}

TEST_CASE("fields a command doesn't know, repeated ones and wrong types are refused") {
  Assembly server(without_storage());
  server.services().commands.add(std::make_unique<Write>());
  CHECK(outcome(server, "d", "{write: 'c', limit: 3}") == "ok");
  CHECK(outcome(server, "d", "{write: 'c', foo: 3}") == "40415 Location40415: BSON field 'write.foo' is an unknown field.");
  CHECK(outcome(server, "d", "{write: 'c', limit: 1, limit: 2}") ==
        "40413 Location40413: BSON field 'write.limit' is a duplicate field");
  CHECK(outcome(server, "d", "{write: 'c', limit: 'x'}") ==
        "14 TypeMismatch: BSON field 'write.limit' is the wrong type 'string', expected types '[long, int, decimal, double']");
  CHECK(outcome(server, "d", "{write: 'c', limit: -2}") ==
        "51024 Location51024: BSON field 'limit' value must be >= 0, actual value '-2'");
  CHECK(outcome(server, "d", "{write: 'c', limit: null}") == "ok");
  CHECK(outcome(server, "d", "{write: 5}") == "73 InvalidNamespace: collection name has invalid type int");
  CHECK(outcome(server, "d", "{write: ''}") == "73 InvalidNamespace: Invalid namespace specified 'd.'");
  CHECK(outcome(server, "d", "{write: '.x'}") == "73 InvalidNamespace: Invalid namespace specified 'd..x'");
}

TEST_CASE("a failure drops what the reply had so far") {
  Assembly server(without_storage());
  server.services().commands.add(std::make_unique<Write>());
  const auto reply = server.run("d", bson::json("{write: 'c', fail: true}"));
  CHECK_FALSE(reply.has("before"));
  CHECK(reply.find("code").as_int32() == 1);
  CHECK(reply.find("errmsg").as_string() == "a surprise");
}

TEST_CASE("write concerns that one server can give are taken, others refused") {
  Assembly server(without_storage());
  server.services().commands.add(std::make_unique<Write>());
  CHECK(outcome(server, "d", "{write: 'c', writeConcern: {w: 'majority', wtimeout: 5}}") == "ok");
  CHECK(server.run("d", bson::json("{write: 'c', writeConcern: {j: true}}")).find("j").truthy());
  CHECK(outcome(server, "d", "{write: 'c', writeConcern: {w: 2}}") ==
        "2 BadValue: cannot use 'w' > 1 when a host is not replicated");
  CHECK(outcome(server, "d", "{write: 'c', writeConcern: {w: -1}}").starts_with("9 FailedToParse: "));
  CHECK(outcome(server, "d", "{write: 'c', writeConcern: {x: 1}}") == "9 FailedToParse: unrecognized write concern field: x");
  CHECK(outcome(server, "d", "{write: 'c', writeConcern: {j: true, fsync: true}}") ==
        "9 FailedToParse: fsync and j options cannot be used together");
  CHECK(outcome(server, "d", "{write: 'c', writeConcern: 1}").starts_with("14 TypeMismatch: "));
  CHECK(outcome(server, "d", "{write: 'c', writeConcern: {w: 1, wtimeout: 'x'}}").starts_with("14 TypeMismatch: "));
  const auto timeout_ms = [](const char* concern) { return parse_write_concern(bson::json(concern), true).timeout_ms; };
  CHECK(timeout_ms("{w: 2, wtimeout: 5}") == 5);
  CHECK(timeout_ms("{w: 2, wtimeout: {$numberLong: '9223372036854775807'}}") == INT32_MAX);
}

TEST_CASE("a client that leaves ends its own operations, and never the server's") {
  Assembly server(without_storage());
  OperationRegistry& operations = server.services().operations;
  const bson::Document body = bson::json("{ping: 1}");
  const Request request{"ping", "admin", body, {}};
  // Connections that aren't known to be clients have no number, like the server itself.
  Client own(ClientId{0}, "", "", false), client(ClientId{7}, "", "", false);
  OperationContext of_server(server.services(), own, request, nullptr), of_client(server.services(), client, request, nullptr);
  operations.kill_client(own.id(), base::ErrorCode::interrupted);
  CHECK_FALSE(of_server.killed());
  CHECK_FALSE(of_client.killed());
  operations.kill_client(client.id(), base::ErrorCode::interrupted);
  CHECK_FALSE(of_server.killed());
  CHECK(of_client.killed());
}

TEST_CASE("operations are counted and slow ones logged") {
  Options options = without_storage();
  options.slow_op_ms = -1;
  Assembly server(options);
  const int64_t before = server.services().metrics.operation(OpKind::command).get();
  server.run("admin", bson::json("{ping: 1, comment: 'find me'}"));
  CHECK(server.services().metrics.operation(OpKind::command).get() == before + 1);
  const std::string line = base::recent_log_lines().lines.back();
  CHECK(line.find("\"msg\":\"Slow query\"") != std::string::npos);
  CHECK(line.find("find me") != std::string::npos);
  CHECK(server.services().operations.size() == 0);
}

TEST_CASE("parameters are read, set and given at the start") {
  Options options = without_storage();
  options.set_parameters = {{"quiet", "true"}};
  Assembly server(options);
  CHECK(server.run("admin", bson::json("{getParameter: 1, quiet: 1}")).find("quiet").as_bool());
  const auto reply = server.run("admin", bson::json("{setParameter: 1, quiet: false}"));
  CHECK(reply.find("was").as_bool());
  CHECK_FALSE(base::log_quiet());
  const auto details = server.run("admin", bson::json("{getParameter: {allParameters: true, showDetails: true}}"));
  CHECK(details.find("logLevel").as_document().find("settableAtRuntime").as_bool());
  options.set_parameters = {{"nonsense", "1"}};
  CHECK_THROWS_WITH(Assembly(options), "Unknown --setParameter 'nonsense'");
}

TEST_CASE("every command answers help and is listed") {
  Assembly server(without_storage());
  const auto listed = server.run("admin", bson::json("{listCommands: 1}"));
  for (const Command* command : server.services().commands.all()) {
    CHECK(listed.find("commands").as_document().has(command->name()));
    bson::Builder body;
    body.append(command->name(), 1).append("help", true);
    const auto reply = server.run("admin", body.done());
    CHECK(reply.find("help").is_string());
  }
}

}  // namespace server
