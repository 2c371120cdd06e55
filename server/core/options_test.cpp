#include "server/core/options.h"

#include <unistd.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "bson/json.h"

namespace server {
namespace {

Options parse(std::vector<std::string> words) {
  words.insert(words.begin(), "palimpsestd");
  return parse_options(words);
}

std::string refusal(std::vector<std::string> words) {
  try {
    parse(std::move(words));
  } catch (const OptionsError& error) {
    return error.what();
  }
  return "";
}

std::string config(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / ("options_test." + std::to_string(::getpid()) + ".yaml");
  std::ofstream(path) << text;
  return path.string();
}

}  // namespace

TEST_CASE("flags as mongod's are understood") {
  const Options options = parse({"--dbpath",
                                 "/d",
                                 "--port=27018",
                                 "--bind_ip",
                                 "127.0.0.1,::1",
                                 "-vv",
                                 "--wiredTigerCacheSizeGB",
                                 "0.5",
                                 "--setParameter",
                                 "a=1",
                                 "--setParameter",
                                 "b=two",
                                 "--nounixsocket",
                                 "--journalCommitInterval",
                                 "50",
                                 "--networkMessageCompressors",
                                 "zstd",
                                 "--quiet",
                                 "--slowms",
                                 "20",
                                 "--profile",
                                 "2"});
  CHECK(options.dbpath == "/d");
  CHECK(options.port == 27018);
  CHECK(options.bind_ip == std::vector<std::string>{"127.0.0.1", "::1"});
  CHECK(options.verbosity == 2);
  CHECK(options.cache_bytes() == 512u << 20);
  CHECK(options.set_parameters.size() == 2);
  CHECK_FALSE(options.unix_socket);
  CHECK(options.journal_commit_ms == 50);
  CHECK(options.compressors == std::vector<std::string>{"zstd"});
  CHECK(options.quiet);
  CHECK(options.slow_op_ms == 20);
  CHECK(options.profile_level == 2);
}

TEST_CASE("a YAML file says the same, and the command line wins over it") {
  const std::string path = config(
      "net:\n  port: 1234\n  bindIp: [127.0.0.1, 10.0.0.1]\n  unixDomainSocket:\n    enabled: false\n"
      "storage:\n  dbPath: /data\n  wiredTiger:\n    engineConfig:\n      cacheSizeGB: 2\n  dedup:\n    profile: thesis\n"
      "systemLog:\n  destination: file\n  path: /log\n  logAppend: true\n  component:\n    network:\n      verbosity: 2\n"
      "security:\n  authorization: disabled\nsetParameter:\n  x: 5\noperationProfiling.slowOpThresholdMs: "
      "7\noperationProfiling.mode: slowOp\n");
  const Options options = parse({"--config", path, "--port", "4321"});
  CHECK(options.port == 4321);
  CHECK(options.bind_ip.size() == 2);
  CHECK_FALSE(options.unix_socket);
  CHECK(options.dbpath == "/data");
  CHECK(options.cache_bytes() == 2ull << 30);
  CHECK(options.dedup_profile == "thesis");
  CHECK(options.log_path == "/log");
  CHECK(options.log_append);
  CHECK(options.component_verbosity == std::vector<std::pair<std::string, int>>{{"network", 2}});
  CHECK(options.set_parameters == std::vector<std::pair<std::string, std::string>>{{"x", "5"}});
  CHECK(options.slow_op_ms == 7);
  CHECK(options.profile_level == 1);
  CHECK(bson::to_json(options.parsed.find("net").as_document().find("port")) == "4321");
}

TEST_CASE("the command line wins over a file that sets the same option by another setting") {
  CHECK_FALSE(parse({"--config", config("net:\n  unixDomainSocket:\n    enabled: true\n"), "--nounixsocket"}).unix_socket);
  CHECK_FALSE(parse({"--config", config("storage:\n  dedup:\n    enabled: true\n"), "--nodedup"}).dedup);
  CHECK_FALSE(parse({"--config", config("security:\n  javascriptEnabled: true\n"), "--noscripting"}).scripting);
}

TEST_CASE("an option that isn't understood is refused as mongod refuses it") {
  CHECK(refusal({"--nonsense"}).starts_with("Error parsing command line: unrecognised option '--nonsense'"));
  CHECK(refusal({"word"}).find("too many positional options") != std::string::npos);
  CHECK(refusal({"--port", "70000"}) == "net.port must be between 0 and 65535, inclusive");
  CHECK(refusal({"--port", "abc"}).find("abc") != std::string::npos);
  CHECK(refusal({"--port", "1", "--port", "2"}).find("more than once") != std::string::npos);
  CHECK(refusal({"--directoryperdb"}).starts_with("--directoryperdb: a directory per database is not supported"));
  CHECK(refusal({"--replSet", "rs0/db1,db2"}).find("seeds") != std::string::npos);
  CHECK(parse_options({"palimpsestd", "--replSet", "rs0"}).repl_set == "rs0");
  CHECK(refusal({"--storageEngine", "mmapv1"}) == "Cannot start server with an unknown storage store: mmapv1");
  CHECK(refusal({"--networkMessageCompressors", "lzo"}).find("lzo") != std::string::npos);
  CHECK(refusal({"--setParameter", "novalue"}) == "Illegal option assignment: \"novalue\"");
  CHECK(refusal({"--fork"}) == "--fork has to be used with --logpath or --syslog");
  CHECK(refusal({"--config", config("net:\n  porte: 5\n")}).starts_with("Unrecognized option: net.porte"));
  CHECK(refusal({"--config", config("net: [\n")}).starts_with("Error parsing YAML config file: "));
  CHECK(refusal({"--config", "/nonexistent.yaml"}).starts_with("Error opening config file"));
}

TEST_CASE("options without a meaning are refused before anything starts") {
  CHECK(refusal({"--dbpath", "/d", "--wiredTigerCacheSizeGB", "nan"}).find("must be between") != std::string::npos);
  CHECK(refusal({"--dbpath", "/d", "--bind_ip", ""}) == "net.bindIp names no address");
  CHECK(refusal({"--dbpath", "/d", "--bind_ip", ","}) == "net.bindIp names no address");
  const std::string directory = std::filesystem::temp_directory_path().string();
  CHECK(refusal({"--config", directory}) == "Error reading config file: Is a directory: " + directory);
}

TEST_CASE("without access control a server is for this machine alone, unless somebody says else") {
  const std::string why = refusal({"--dbpath", "/d", "--bind_ip_all"});
  CHECK(why.find("--noauth") != std::string::npos);
  CHECK(parse({"--dbpath", "/d", "--bind_ip_all", "--noauth"}).bind_ip == std::vector<std::string>{"*"});
  CHECK(parse({"--dbpath", "/d", "--bind_ip", "10.0.0.1", "--auth"}).authorization);
  CHECK(parse({"--dbpath", "/d", "--keyFile", "/k"}).authorization);
  CHECK(refusal({"--dbpath", "/d", "--auth", "--noauth"}) == "--noauth and --auth, or --keyFile, exclude each other");
  CHECK(refusal({"--dbpath", "/d", "--auth", "--replSet", "rs0"}) ==
        "security.keyFile is required when authorization is enabled with replica sets");
  CHECK(refusal({"--dbpath", "/d", "--clusterAuthMode", "x509"}) ==
        "cannot have x.509 cluster authentication in tlsMode disabled");
  CHECK(refusal({"--dbpath", "/d", "--clusterAuthMode", "x"}) == "unsupported value for clusterAuthMode x");
}

TEST_CASE("help and version are actions of their own") {
  CHECK(parse({"--help"}).action == Options::Action::help);
  CHECK(parse({"--version"}).action == Options::Action::version);
  CHECK(parse({"--shutdown", "--dbpath", "/d"}).action == Options::Action::shutdown);
  CHECK(help_text().find("--wiredTigerCacheSizeGB arg") != std::string::npos);
  CHECK(version_text().find("0.1.0") != std::string::npos);
}

}  // namespace server
