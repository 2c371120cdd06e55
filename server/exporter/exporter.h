// The exporter serves the server's figures over HTTP, at /metrics, in the form that Prometheus reads.
//
// Whoever reaches the port may read them, without a login. They are numbers, with names of databases, members and commands; no
// documents, users or queries.
#pragma once

#include <functional>
#include <memory>

#include "bson/document.h"

namespace server {

struct Services;

namespace exporter {

class Exporter {
 public:
  // Runs a command on a database and returns its reply. Several threads call it.
  using Run = std::function<bson::Document(const std::string& db, bson::DocumentView command)>;

  // Listens at services.options.metrics_port from now on. Throws std::runtime_error if it can't.
  Exporter(Services& services, Run run);
  ~Exporter();  // ends the requests that are under way, and waits for them
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

 private:
  class Collected;
  struct Served;
  std::unique_ptr<Served> served_;
};

}  // namespace exporter
}  // namespace server
