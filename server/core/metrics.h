// Metrics are the server's counters about itself.
#pragma once

#include <array>

#include "base/counters.h"
#include "server/core/command.h"
#include "server/core/latency_histogram.h"

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
    Counter bytes_in, bytes_out, requests;  // uncompressed, as the commands see them
    Counter physical_in, physical_out;      // as they are on the wire
    Counter slow_clients;
    Counter tls12, tls13;  // handshakes that came to an end, by version
    struct Compressor {
      Counter raw_in, wire_in, raw_out, wire_out;
    };
    Compressor snappy, zstd, zlib;
  } network;

  // Counts documents for inserts, statements for updates and deletes, and commands for the other kinds.
  std::array<Counter, op_kinds> operations;  // by OpKind
  Counter& operation(OpKind kind) { return operations[static_cast<size_t>(kind)]; }
  const Counter& operation(OpKind kind) const { return operations[static_cast<size_t>(kind)]; }

  // The latencies of one kind of operation, in µs.
  struct Latency {
    Histogram us;
    std::array<Counter, LatencyHistogram::buckets> buckets;  // as opLatencies shows them
    void record(int64_t time) {
      us.record(static_cast<uint64_t>(time));
      buckets[LatencyHistogram::bucket_of(time)].add();
    }
  } reads, writes, commands;
  Latency transactions;  // from the first statement to the end

  struct Retries {
    Counter commands, statements;  // those that had been executed before
  } retries;

  struct Asserts {
    Counter regular, warning, message, user, rollovers;
  } asserts;

  struct Documents {
    Counter deleted, inserted, returned, updated;
  } documents;

  struct Ttl {
    Counter deleted_documents, passes;
  } ttl;

  struct QueryExecutor {
    Counter keys_examined, documents_examined;
    Counter scans, non_tailable_scans;  // of whole collections
  } executor;

  struct Operations {
    Counter out_of_time, client_gone;  // operations killed for that reason
    Counter sorted_in_memory, write_conflicts;
  } operation_ends;

  Counter unknown_commands;

  // These count how often operations took collections' schema locks, shared.
  struct Locks {
    struct Mode {
      Counter acquired, waited, waited_us;
    } read, write;
  } locks;
};

}  // namespace server
