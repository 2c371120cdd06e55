// Clients holds many connections, each of which sends a request, waits for its reply and sends the next. One thread serves
// them all, so that the client takes little of the machine, and as much beside every server.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bson/document.h"

namespace bench::wire {

struct Lap {
  uint64_t operations = 0;
  double seconds = 0;
  double p50_us = 0, p99_us = 0, most_us = 0;
};

class Clients {
 public:
  // Opens `connections` to HOST:PORT. Throws std::runtime_error.
  Clients(const std::string& address, size_t connections);
  ~Clients();
  Clients(const Clients&) = delete;

  // Returns the next request of a connection: a command with its $db.
  using NextRequest = std::function<bson::Document(size_t connection)>;

  // Keeps all connections at work until the time is over, and returns when each has its last reply. Throws
  // std::runtime_error with the text of a reply that isn't ok.
  Lap run(std::chrono::duration<double> time, const NextRequest& next);
  // Sends one request on the first connection, and returns its reply.
  bson::Document ask(bson::DocumentView command);

 private:
  struct Connection;
  void send(Connection& connection, bson::DocumentView command);
  bool receive(Connection& connection);  // false if the reply isn't whole yet

  std::vector<std::unique_ptr<Connection>> connections_;
  int poll_ = -1;
};

}  // namespace bench::wire
