// hello and its old name isMaster differ in one field of the reply.
#pragma once

#include "replication/coordinator.h"
#include "server/core/command.h"

namespace server {

// Appends what hello, and serverStatus' `repl`, show of the replica set: names, state, progress.
void append_set(bson::Builder& reply, std::string_view primary_field, const replication::Coordinator& set);

class Handshake : public Command {
 public:
  // `primary_field` is "isWritablePrimary" or "ismaster".
  explicit Handshake(std::string_view primary_field) : primary_field_(primary_field) {}

  std::string_view help() const override { return "Check if this server is primary for a replica set"; }
  bool before_auth() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::later; }
  int64_t await_topology_ms(const Services& services, const Request& request) const override;
  void run(OperationContext& op, const Request& request, bson::Builder& reply) override;

 private:
  std::string_view primary_field_;
};

}  // namespace server
