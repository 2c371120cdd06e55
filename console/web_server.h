// The web server answers the console's page on the loopback interface.
//
//   GET  /login?token=…   lets a browser in (gate.h)
//   GET  /                the page, with /console.js, /console.css and /licences.txt
//   GET  /session         what the page has to know: {csrf, writes, hosts, database}
//   POST /command         {db, command, texts, member, json} -> the server's reply
//   POST /next            {cursor, batchSize, json} -> the next batch
//   POST /close           {cursor}
//
// `texts` has arguments that somebody typed, {filter: "{lang: 'en'}"}: they are read as Extended JSON, or as the shell writes it,
// and become fields of the command. `json` is "relaxed" (the default) or "canonical", which keeps the types of numbers.
#pragma once

#include <memory>
#include <string>

#include "console/gate.h"
#include "console/runner.h"

namespace console {

class WebServer {
 public:
  // Binds to 127.0.0.1. `port` 0 takes a free one. Throws std::runtime_error where the port is taken. `runner` outlives the
  // server.
  WebServer(Runner& runner, int port, bool writes);
  ~WebServer();
  WebServer(const WebServer&) = delete;

  int port() const;
  // The address that lets in whoever opens it.
  std::string address() const;

  // Answers until stop(), which any thread may call.
  void serve();
  void stop();

 private:
  struct Http;
  std::unique_ptr<Http> http_;
};

}  // namespace console
