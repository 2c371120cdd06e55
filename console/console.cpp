#include "console/console.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include "bson/builder.h"
#include "console/browser.h"
#include "console/runner.h"
#include "console/web_server.h"

namespace console {
namespace {

struct Arguments {
  std::string uri = "mongodb://127.0.0.1:27017/";
  int port = 0;
  bool write = false;
  bool no_open = false;
};

// A mistake in the connection string is said at once, not by each page.
void check_server(Runner& runner) {
  bson::Builder ping;
  const bson::Document reply = runner.run("admin", ping.append("ping", 1).done(), {});
  if (!reply["ok"].truthy())
    throw std::runtime_error("the server at " + runner.hosts() + ": " + std::string(reply["errmsg"].as_string()));
}

int run(const Arguments& arguments) {
  // Before any thread begins, so that none of them takes the signals.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGINT);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);

  Runner runner(arguments.uri);
  check_server(runner);
  WebServer server(runner, arguments.port, arguments.write);
  std::thread answering([&] { server.serve(); });
  std::cout << "console of " << runner.hosts() << (arguments.write ? ", which may write" : ", which only reads") << "\nopen "
            << server.address() << "\nCtrl-C ends it" << std::endl;
  std::optional<Browser> browser;
  if (!arguments.no_open) browser.emplace(server.address());
  int signal = 0;
  sigwait(&ending, &signal);
  server.stop();
  answering.join();
  return 0;
}

}  // namespace

Command add_console(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* parser = app.add_subcommand("console", "serve a web page that shows a server, on this machine alone");
  parser->add_option("--uri", arguments->uri, "the server, or the replica set")->envname("PALIMPSEST_URI")->capture_default_str();
  parser->add_option("--port", arguments->port, "the page's port on 127.0.0.1; 0 takes a free one")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  parser->add_flag("--write", arguments->write,
                   "let the page merge, make branches and kill operations; without it, it only reads");
  parser->add_flag("--no-open", arguments->no_open, "don't open a browser");
  return {parser, [arguments] { return run(*arguments); }};
}

}  // namespace console
