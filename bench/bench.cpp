#include "bench/bench.h"

#include "bench/branches/command.h"
#include "bench/chapter6/command.h"
#include "bench/merkle/command.h"
#include "bench/past/command.h"
#include "bench/queries/command.h"
#include "bench/remotes/command.h"
#include "bench/sets/command.h"
#include "bench/sizes/command.h"
#include "bench/streams/command.h"
#include "bench/transactions/command.h"
#include "bench/wire/command.h"

namespace bench {

const std::vector<Benchmark>& all() {
  static const std::vector<Benchmark> benchmarks = {
      {"dedup", "chapter 6 of dbDedup: each figure and table, the goals, and other programs on the same bytes",
       chapter6::add_options},
      {"bandwidth", "inserts into a replica set over lines of 1, 5, 20, 100 Mbit/s (dbDedup, figure 6.5); needs root",
       sets::add_bandwidth},
      {"shards", "records routed by key over 1, 3, 5, 9 pairs of servers (dbDedup, table 6.2)", sets::add_shards},
      {"failover", "compression in the inserts after the primary was killed, of the log and in the new primary's store",
       sets::add_fail_over},
      {"majority", "writes acknowledged by the majority of a replica set, beside consensus alone", sets::add_majority},
      {"sizes", "data directories of the sets, file by file, beside git gc --aggressive and zstd -19 --long=31",
       sizes::add_options},
      {"branches", "the versioning benchmark of Decibel over all layouts, git beside, and what branches, commits and merges cost",
       branches::add_options},
      {"remotes", "two servers that exchange commits: bytes and time of pushes, and of a fetch of nothing", remotes::add_options},
      {"merkle",
       "indexes of immutable data side by side (Yue et al.): speed, sharing, differences, merges, proofs; the figures to reach",
       merkle::add_options},
      {"past",
       "page tables of snapshots by a log with levels (Skippy): by skew, height, size and age, of ranges, beside an ordered "
       "index; the figures to reach",
       past::add_options},
      {"wire",
       "small commands over sockets at 1, 8, 32, 256 connections: what one costs the server in CPU time and context switches",
       wire::add_options},
      {"query",
       "scans, matches, groups, index builds, inserts with indexes, $text and $geoNear over a socket; the figures to reach",
       queries::add_options},
      {"transactions",
       "transfers between accounts in transactions, beside the same updates without: rate, aborts, latency, CPU; the figures to "
       "reach",
       transactions::add_options},
      {"streams", "open change streams while documents are inserted: CPU, memory, the delay of events; the figures to reach",
       streams::add_options},
  };
  return benchmarks;
}

}  // namespace bench
