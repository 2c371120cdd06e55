// `palimpsest verify` tells whether everything that was acknowledged is still there.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "datasets/program/commands.h"
#include "datasets/replay/client.h"
#include "datasets/replay/verify.h"

namespace datasets::program {
namespace {

struct Arguments {
  std::string uri = "mongodb://127.0.0.1:27017/";
  std::string db = "palimpsest";
  std::string log;
};

int run(const Arguments& arguments) {
  replay::Client client(arguments.uri);
  if (!client.wait_until_up(10)) throw replay::ClientError("no server answers at " + arguments.uri, 0);
  const replay::Verified verified = replay::verify_log(client, arguments.db, arguments.log);
  std::cout << "{\"documents\": " << verified.documents << ", \"differing\": " << verified.differing
            << ", \"missing\": " << verified.missing << "}\n";
  for (const std::string& example : verified.examples) std::cerr << example << "\n";
  return verified.sound() ? 0 : 3;
}

}  // namespace

Command add_verify(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* parser = app.add_subcommand("verify", "check a server against a log of acknowledged writes");
  parser->add_option("--uri", arguments->uri, "the server")->capture_default_str();
  parser->add_option("--db", arguments->db, "the database")->capture_default_str();
  parser->add_option("--acknowledged-log", arguments->log, "the file that `palimpsest replay --acknowledged-log` wrote")
      ->required()
      ->check(CLI::ExistingFile);
  return {parser, [arguments] { return run(*arguments); }};
}

}  // namespace datasets::program
