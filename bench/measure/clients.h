// Clients holds many connections, each of which sends a request, waits for its reply and sends the next. One thread serves
// them all, so that the client takes little of the machine, and as much beside every server.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure/latency.h"
#include "bson/document.h"

namespace bench {

struct Lap {
  uint64_t operations = 0;
  double seconds = 0;
  Latency latency;
};

// Throws std::runtime_error with the text of a reply that isn't ok, or says that a write failed or isn't acknowledged.
void demand_accepted(bson::DocumentView reply);

class Clients {
 public:
  // Opens `connections` to HOST:PORT. Throws std::runtime_error.
  Clients(const std::string& address, size_t connections);
  ~Clients();
  Clients(const Clients&) = delete;

  // Returns the next request of a connection: a command with its $db.
  using NextRequest = std::function<bson::Document(size_t connection)>;
  // Returns the same, or nothing when the connection has no more to ask. `reply` answers its last request, and is null before
  // the first.
  using NextStep = std::function<std::optional<bson::Document>(size_t connection, const bson::DocumentView* reply)>;

  // Keeps all connections at work until the time is over, and returns when each has its last reply. Throws
  // std::runtime_error with the text of a reply that isn't ok.
  Lap run(std::chrono::duration<double> time, const NextRequest& next);
  // Keeps each connection at work until it has no more to ask. Replies that aren't ok are for `next` to judge.
  void converse(const NextStep& next);
  // Sends one request on the first connection, and returns its reply. Throws as run() does.
  bson::Document ask(bson::DocumentView command);

 private:
  struct Connection;
  void send(Connection& connection, bson::DocumentView command);
  bool receive(Connection& connection);  // false if the reply isn't whole yet

  std::vector<std::unique_ptr<Connection>> connections_;
  int poll_ = -1;
};

}  // namespace bench
