// What the server counts about itself.
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
    Counter bytes_in, bytes_out, requests;  // as the commands saw them
    Counter physical_in, physical_out;      // as they were on the wire
    Counter slow_clients;
    struct Compressor {
      Counter raw_in, wire_in, raw_out, wire_out;
    };
    Compressor snappy, zstd, zlib;
  } network;

  // Documents for inserts, statements for updates and deletes, else commands.
  std::array<Counter, op_kinds> operations;  // by OpKind
  Counter& operation(OpKind kind) { return operations[static_cast<size_t>(kind)]; }
  const Counter& operation(OpKind kind) const { return operations[static_cast<size_t>(kind)]; }

  // Latencies of one kind of operation, in µs.
  struct Latency {
    Histogram us;
    std::array<Counter, LatencyHistogram::buckets> buckets;  // as opLatencies shows them
    void record(int64_t time) {
      us.record(static_cast<uint64_t>(time));
      buckets[LatencyHistogram::bucket_of(time)].add();
    }
  } reads, writes, commands;

  struct Retries {
    Counter commands, statements;  // that had been executed before
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
    Counter out_of_time, client_gone;  // were killed for it
    Counter sorted_in_memory, write_conflicts;
  } operation_ends;

  Counter unknown_commands;

  // Of collections' schema locks, held shared.
  struct Locks {
    struct Mode {
      Counter acquired, waited, waited_us;
    } read, write;
  } locks;
};

}  // namespace server
