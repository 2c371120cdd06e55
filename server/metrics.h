// What the server counts about itself.
#pragma once

#include <array>

#include "base/counters.h"
#include "server/command.h"

namespace server {

using base::Counter;
using base::Histogram;

// Thread-safe.
class Metrics {
 public:
  struct Connections {
    Counter current, created, rejected, active, awaiting_topology, exhaust_hello;
  } connections;

  struct Network {
    Counter bytes_in, bytes_out, requests;          // as the commands saw them
    Counter physical_in, physical_out;              // as they were on the wire
    Counter slow_clients;
    struct Compressor {
      Counter raw_in, wire_in, raw_out, wire_out;
    };
    Compressor snappy, zstd, zlib;
  } network;

  // Documents for inserts, statements for updates and deletes, else commands.
  std::array<Counter, 6> operations;  // by OpKind
  Counter& operation(OpKind kind) { return operations[static_cast<size_t>(kind)]; }
  const Counter& operation(OpKind kind) const { return operations[static_cast<size_t>(kind)]; }

  Histogram read_us, write_us, command_us;

  struct Asserts {
    Counter regular, warning, message, user, rollovers;
  } asserts;

  struct Documents {
    Counter deleted, inserted, returned, updated;
  } documents;

  struct Ttl {
    Counter deleted_documents, passes;
  } ttl;
};

}  // namespace server
