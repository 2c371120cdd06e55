// This runs case files against a server: its own, or the one that --uri names.
#include <mongoc/mongoc.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/measure/server.h"
#include "bson/json.h"
#include "tests/cases/case_file.h"

namespace {

struct Totals {
  int passed = 0;
  int failed = 0;
};

std::string with_db(std::string text, const std::string& db) {
  for (size_t at = text.find("$db"); at != std::string::npos; at = text.find("$db", at)) {
    const char after = at + 3 < text.size() ? text[at + 3] : ' ';
    if (std::isalnum(static_cast<unsigned char>(after)) || after == '_') {
      at += 3;
      continue;
    }
    text.replace(at, 3, db);
    at += db.size();
  }
  return text;
}

bson::Document send(mongoc_client_t* client, const std::string& db, const bson::Document& command) {
  bson_t request, reply;
  bson_error_t error;
  bson_init_static(&request, reinterpret_cast<const uint8_t*>(command.bytes().data()), command.size());
  mongoc_client_command_simple(client, db.c_str(), &request, nullptr, &reply, &error);
  bson::Document out(base::Bytes(reinterpret_cast<const char*>(bson_get_data(&reply)), reply.len));
  bson_destroy(&reply);
  if (out.empty()) throw std::runtime_error(std::string("no reply: ") + error.message);
  return out;
}

// Returns an empty string when the case holds.
std::string run(mongoc_client_t* client, const tests::Case& each, const std::string& own_db) {
  tests::Kept kept;
  for (const tests::Exchange& exchange : each.exchanges) {
    const std::string where = "line " + std::to_string(exchange.line) + ": ";
    try {
      const auto read = [&](const std::string& text) { return tests::with_kept(with_db(text, own_db), kept); };
      const bson::Document command = bson::json(read(exchange.command));
      const bson::Document expected = bson::json(read(exchange.reply));
      const bson::Document actual = send(client, exchange.db.empty() ? own_db : read(exchange.db), command);
      if (const std::string why = tests::mismatch(expected, actual, &kept); !why.empty()) {
        return where + why + "\n      command " + bson::to_json(command) + "\n      reply   " + bson::to_json(actual);
      }
    } catch (const std::exception& error) {
      return where + error.what();
    }
  }
  return {};
}

void run_file(mongoc_client_t* client, const std::string& path, Totals& totals) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  std::vector<tests::Case> cases;
  try {
    if (!in) throw std::runtime_error("can't be read");
    cases = tests::parse_cases(text.str());
  } catch (const std::exception& error) {
    std::printf("FAIL  %s: %s\n", path.c_str(), error.what());
    ++totals.failed;
    return;
  }
  for (const tests::Case& each : cases) {
    const std::string db = "case_" + std::to_string(totals.passed + totals.failed);
    const std::string why = run(client, each, db);
    send(client, db, bson::json("{dropDatabase: 1}"));
    if (why.empty()) {
      ++totals.passed;
    } else {
      ++totals.failed;
      std::printf("FAIL  %s: %s\n      %s\n", path.c_str(), each.name.c_str(), why.c_str());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string uri, program = "palimpsestd";
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--uri" && i + 1 < argc) {
      uri = argv[++i];
    } else if (word == "--server" && i + 1 < argc) {
      program = argv[++i];
    } else {
      files.push_back(word);
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "usage: case_runner [--uri URI | --server PALIMPSESTD] FILE...\n");
    return 2;
  }
  mongoc_init();
  Totals totals;
  try {
    std::unique_ptr<bench::Server> server;
    if (uri.empty()) {
      server = std::make_unique<bench::Server>(program, std::vector<std::string>(), "");
      uri = server->uri();
    }
    mongoc_client_t* client = mongoc_client_new(uri.c_str());
    if (!client) throw std::runtime_error("bad uri: " + uri);
    mongoc_client_set_error_api(client, 2);
    for (const std::string& file : files) run_file(client, file, totals);
    mongoc_client_destroy(client);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "case_runner: %s\n", error.what());
    return 1;
  }
  mongoc_cleanup();
  std::printf("%d passed, %d failed\n", totals.passed, totals.failed);
  return totals.failed == 0 && totals.passed > 0 ? 0 : 1;
}
