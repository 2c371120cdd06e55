// This is a replica set of its own, gone with the object.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/measure/network.h"
#include "bench/measure/server.h"
#include "datasets/replay/client.h"

namespace bench {

struct SetOptions {
  std::string program;  // palimpsestd
  size_t members = 3;
  std::vector<std::string> arguments;  // of every member
  std::string scratch;
  const Network* network = nullptr;  // a host for each member; null: all on 127.0.0.1
};

class ReplicaSet {
 public:
  // Waits until there are a primary and secondaries. Throws std::runtime_error, datasets::replay::ClientError.
  explicit ReplicaSet(const SetOptions& options);

  // Connects to the primary alone, without discovery; `options` stand as in a connection string: "w=majority&journal=true".
  std::string uri(const std::string& options = {}) const;
  size_t members() const { return members_.size(); }
  const Server& primary() const { return *members_.front(); }
  double cpu_seconds() const;
  // Waits until every member has what was written so far.
  void synchronize();
  // Waits until no member has records left to encode or to write back, and returns the primary's serverStatus then. Throws
  // std::runtime_error after some minutes.
  bson::Document settle();
  // Kills the primary. When it returns, another one leads, and the set is without the old one. Throws
  // std::runtime_error.
  void fail_over();
  // Returns serverStatus of a member that isn't the primary, when its background work is done.
  bson::Document secondary_status();

 private:
  bson::Document settle(const Server& member);
  std::vector<std::unique_ptr<Server>> members_;  // the first is the primary
};

}  // namespace bench
