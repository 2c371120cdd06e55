// Each of these small commands answers as a mongod without the feature does.
#include <catch2/catch.hpp>

#include "bson/json.h"
#include "bson/md5.h"
#include "server/commands/test_server.h"

namespace server {
namespace {

using bson::json;

TEST_CASE("commands of sharded clusters are refused as a mongod outside of one does") {
  TestServer server;
  server.expect("admin", "{shardingState: 1}", "{enabled: false, ok: 1.0}");
  server.expect("{shardingState: 1}", "{ok: 0.0, code: 13}");
  server.expect("admin", "{isdbgrid: 1}",
                "{ok: 0.0, errmsg: \"no such command: 'isdbgrid'\", code: 59, codeName: 'CommandNotFound'}");
  server.expect("admin", "{listShards: 1}",
                "{ok: 0.0, errmsg: \"no such command: 'listShards'\", code: 59, codeName: 'CommandNotFound'}");
  for (const char* command : {"{getShardMap: 1}", "{flushRouterConfig: 1}", "{flushrouterconfig: 'a.b'}"}) {
    server.expect("admin", command,
                  "{ok: 0.0, errmsg: 'Sharding is not enabled', code: 203, codeName: 'ShardingStateNotInitialized'}");
  }
}

TEST_CASE("a feature that the server lacks isn't made up") {
  TestServer server;
  server.expect("admin", "{rotateCertificates: 1}", "{ok: 0.0, code: 115}");
  server.expect("{logout: 1}", "{ok: 1.0}");
  server.expect("{logout: 1, frob: 1}", "{ok: 0.0, code: 40415}");
  server.expect("admin", "{logRotate: 1}", "{ok: 1.0}");
  server.expect("admin", "{logRotate: 'server'}", "{ok: 1.0}");
  server.expect("admin", "{logRotate: 'frob'}", "{ok: 0.0, code: 4}");
}

TEST_CASE("where there are no users and no roles, none is shown") {
  TestServer server;
  for (const char* asked :
       {"1", "'a'", "{user: 'a', db: 'test'}", "['a', {user: 'b', db: 'admin'}]", "{forAllDBs: true}", "[]"}) {
    INFO(asked);
    server.expect(std::string("{usersInfo: ") + asked + ", showCredentials: 1}", "{users: [], ok: 1.0}");
  }
  for (const char* asked : {"1", "'a'", "{role: 'a', db: 'test'}", "['a', {role: 'b', db: 'admin'}]"}) {
    server.expect(std::string("{rolesInfo: ") + asked + ", showPrivileges: true}", "{roles: [], ok: 1.0}");
  }
  for (const char* command : {"usersInfo", "rolesInfo"}) {
    for (const char* asked : {"2", "true", "[1]", "null"}) {
      INFO(command << " " << asked);
      server.expect(std::string("{") + command + ": " + asked + "}",
                    "{ok: 0.0, code: 2, errmsg: 'User and role names must be either strings or objects'}");
    }
    server.expect(std::string("{") + command + ": {x: 1}}", "{ok: 0.0, code: 40414}");
    server.expect(std::string("{") + command + ": 1, frob: 1}", "{ok: 0.0, code: 40415}");
  }
  server.expect("{usersInfo: {user: 1, db: 'a'}}", "{ok: 0.0, code: 14}");
  server.expect("{usersInfo: 1, filter: 1}", "{ok: 0.0, code: 14}");
  server.expect("{usersInfo: 1, showPrivileges: true}", "{ok: 0.0, code: 20}");
  server.expect("{rolesInfo: 1, showPrivileges: 'x'}", "{ok: 0.0, code: 9}");
}

TEST_CASE("the featureCompatibilityVersion can be set to what it is") {
  TestServer server;
  server.expect("admin", "{setFeatureCompatibilityVersion: '7.0', confirm: true}", "{ok: 1.0}");
  server.expect("admin", "{getParameter: 1, featureCompatibilityVersion: 1}", "{featureCompatibilityVersion: {version: '7.0'}}");
  server.expect("admin", "{setFeatureCompatibilityVersion: '7.0'}", "{ok: 0.0, code: 7369100}");
  server.expect("admin", "{setFeatureCompatibilityVersion: '6.0'}", "{ok: 0.0, code: 7369100}");
  server.expect("admin", "{setFeatureCompatibilityVersion: '6.0', confirm: true}", "{ok: 0.0, code: 115}");
  server.expect("admin", "{setFeatureCompatibilityVersion: '4.4', confirm: true}",
                "{ok: 0.0, code: 4926900, errmsg: \"Invalid feature compatibility version value '4.4'; expected '6.0' or '6.3' "
                "or '7.0'. See "
                "https://docs.mongodb.com/master/release-notes/6.0-compatibility/#feature-compatibility.\"}");
  server.expect("admin", "{setFeatureCompatibilityVersion: 7, confirm: true}", "{ok: 0.0, code: 14}");
  server.expect("admin", "{setFeatureCompatibilityVersion: '7.0', confirm: 1}", "{ok: 0.0, code: 14}");
  server.expect("{setFeatureCompatibilityVersion: '7.0', confirm: true}", "{ok: 0.0, code: 13}");
}

TEST_CASE("driverOIDTest gives an ObjectId back") {
  TestServer server;
  server.expect("{driverOIDTest: ObjectId('5f0000000000000000000001')}",
                "{oid: ObjectId('5f0000000000000000000001'), str: '5f0000000000000000000001', ok: 1.0}");
  for (const char* other : {"1", "'5f0000000000000000000001'", "null", "{}"}) {
    server.expect(std::string("{driverOIDTest: ") + other + "}", "{ok: 0.0, code: 10065, errmsg: 'not oid'}");
  }
}

TEST_CASE("buildInfo has all fields of a mongod's, about this build") {
  TestServer server;
  const auto reply = server.run("admin", json("{buildInfo: 1}"));
  std::string names;
  for (const auto& field : reply.view()) names += std::string(field.name) + " ";
  CHECK(names ==
        "version gitVersion palimpsestVersion modules allocator javascriptEngine sysInfo versionArray openssl buildEnvironment "
        "bits debug "
        "maxBsonObjectSize storageEngines ok ");
  CHECK(reply["openssl"].as_document()["running"].as_string().starts_with("OpenSSL "));
  CHECK(reply["versionArray"].as_document().count() == 4);
  CHECK(reply["bits"].type() == bson::Type::int32);
  CHECK(reply["maxBsonObjectSize"].type() == bson::Type::int32);
  const auto environment = reply["buildEnvironment"].as_document();
  for (const char* name :
       {"distmod", "distarch", "cc", "ccflags", "cxx", "cxxflags", "linkflags", "target_arch", "target_os", "cppdefines"}) {
    CHECK(environment.find(name).is_string());
  }
  CHECK(environment["cxxflags"].as_string().find("-std=c++20") != std::string_view::npos);
}

TEST_CASE("validateDBMetadata finds what version 1 of the API doesn't know") {
  TestServer server;
  server.run(json("{createIndexes: 'c', indexes: [{key: {a: 1}, name: 'a_1', sparse: true}, {key: {b: 1}, name: 'b_1'}]}"));
  server.run("other", json("{createIndexes: 'd', indexes: [{key: {a: 1}, name: 'x', sparse: true}]}"));
  const std::string strict = "{validateDBMetadata: 1, apiParameters: {version: '1', strict: true}";
  const std::string c =
      "{ns: 'test.c', code: 323, codeName: 'APIStrictError', errmsg: 'The index with name a_1 is not allowed in API version 1.'}";
  server.expect(strict + "}", "{apiVersionErrors: [{ns: 'other.d'}, " + c + "], ok: 1.0}");
  server.expect(strict + ", db: 'test'}", "{apiVersionErrors: [" + c + "], ok: 1.0}");
  server.expect(strict + ", collection: 'c'}", "{apiVersionErrors: [" + c + "], ok: 1.0}");
  for (const char* nothing : {", db: 'none'}", ", db: 'test', collection: 'd'}"})
    server.expect(strict + nothing, "{apiVersionErrors: [], ok: 1.0}");
  server.expect("{validateDBMetadata: 1, apiParameters: {version: '1', strict: false, deprecationErrors: true}}",
                "{apiVersionErrors: [], ok: 1.0}");
  server.expect("{validateDBMetadata: 1, apiParameters: {version: '1'}}", "{apiVersionErrors: [], ok: 1.0}");
  server.expect(
      "{validateDBMetadata: 1}",
      "{ok: 0.0, code: 40414, errmsg: \"BSON field 'validateDBMetadata.apiParameters' is missing but a required field\"}");
  server.expect("{validateDBMetadata: 1, apiParameters: null}", "{ok: 0.0, code: 40414}");
  server.expect("{validateDBMetadata: 1, apiParameters: {}}", "{ok: 0.0, code: 40414}");
  server.expect("{validateDBMetadata: 1, apiParameters: 1}", "{ok: 0.0, code: 14}");
  server.expect("{validateDBMetadata: 1, apiParameters: {version: 1}}", "{ok: 0.0, code: 14}");
  server.expect("{validateDBMetadata: 1, apiParameters: {version: '1', strict: 1}}", "{ok: 0.0, code: 14}");
  server.expect("{validateDBMetadata: 1, apiParameters: {version: '1', frob: 1}}", "{ok: 0.0, code: 40415}");
  server.expect(strict + ", db: 1}", "{ok: 0.0, code: 14}");
  server.expect(strict + ", frob: 1}", "{ok: 0.0, code: 40415}");
}

TEST_CASE("filemd5 digests a file's chunks, all or from one on") {
  TestServer server;
  server.expect("{filemd5: 1}", "{numChunks: 0, md5: 'd41d8cd98f00b204e9800998ecf8427e', ok: 1.0}");
  server.run(json("{createIndexes: 'fs.chunks', indexes: [{key: {files_id: 1, n: 1}, name: 'files_id_1_n_1', unique: true}]}"));
  // The chunks "mess", "age ", "digest" are inserted out of order.
  server.run(
      json("{insert: 'fs.chunks', documents: [{files_id: 1, n: 1, data: BinData(0, 'YWdlIA==')}, {files_id: 1, n: 2, data: "
           "BinData(0, 'ZGlnZXN0')},"
           " {files_id: 1, n: 0, data: BinData(0, 'bWVzcw==')}, {files_id: 2, n: 0, data: BinData(0, 'YQ==')}]}"));
  const std::string whole = "{numChunks: 3, md5: 'f96b697d7cb7938d525a2f31aaf161d0', ok: 1.0}";
  server.expect("{filemd5: 1, root: 'fs'}", whole);
  server.expect("{filemd5: 1}", whole);
  server.expect("{filemd5: 2}", "{numChunks: 1, md5: '0cc175b9c0f1b6a831c399e269772661'}");
  server.expect("{filemd5: 3}", "{numChunks: 0}");
  server.expect("{filemd5: 1, root: 'other'}", "{numChunks: 0}");

  // The first call hashes a part, and the second continues after it.
  server.run(json("{delete: 'fs.chunks', deletes: [{q: {files_id: 1, n: 2}, limit: 1}]}"));
  const auto part = server.run(json("{filemd5: 1, partialOk: true}"));
  CHECK(part["numChunks"].as_int32() == 2);
  REQUIRE(part["md5state"].type() == bson::Type::binary);
  CHECK(part["md5state"].as_binary().bytes.size() == bson::Md5::state_bytes);
  server.run(json("{insert: 'fs.chunks', documents: [{files_id: 1, n: 2, data: BinData(0, 'ZGlnZXN0')}]}"));
  bson::Builder rest;
  rest.append("filemd5", 1)
      .append("partialOk", true)
      .append("startAt", 2)
      .append("md5state", static_cast<bson::ValueView>(part["md5state"]));
  server.expect(rest.done(), whole);
}

TEST_CASE("filemd5 refuses chunks that are no file") {
  TestServer server;
  server.expect("{filemd5: 1, root: 5}", "{ok: 0.0, code: 73, errmsg: \"'root' must be of type String\"}");
  server.run(json("{insert: 'fs.chunks', documents: [{files_id: 1, n: 0, data: BinData(0, 'YQ==')}]}"));
  server.expect("{filemd5: 1}", "{ok: 0.0, code: 291, codeName: 'NoQueryExecutionPlans'}");
  server.run(json("{createIndexes: 'fs.chunks', indexes: [{key: {files_id: 1, n: 1}, name: 'files_id_1_n_1', unique: true}]}"));
  server.run(
      json("{insert: 'fs.chunks', documents: [{files_id: 1, n: 2, data: BinData(0, 'YQ==')}, {files_id: 2, n: 0, data: 'text'}, "
           "{files_id: 3, n: 0},"
           " {files_id: 4, n: 'x', data: BinData(0, 'YQ==')}]}"));
  server.expect("{filemd5: 1}", "{ok: 0.0, code: 10040, errmsg: 'chunks out of order'}");
  server.expect("{filemd5: 1, partialOk: true}", "{numChunks: 1, ok: 1.0}");
  server.expect("{filemd5: 2}", "{ok: 0.0, code: 50847}");
  server.expect("{filemd5: 3}", "{ok: 0.0, code: 50847}");
  server.expect("{filemd5: 4}", "{numChunks: 0}");
  for (const char* state : {"1", "'x'", "BinData(0, 'YQ==')"}) {
    server.expect(std::string("{filemd5: 1, partialOk: true, md5state: ") + state + "}",
                  "{ok: 0.0, code: 16247, errmsg: 'md5 state not correct size'}");
  }
}

}  // namespace
}  // namespace server
