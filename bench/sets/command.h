// Benchmarks of replica sets use real servers, which they start.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "bench/data/workload.h"
#include "bench/report/report.h"
#include "datasets/replay/client.h"

namespace bench::sets {

Run add_bandwidth(CLI::App& parser);  // dbDedup Figure 6.5, on lines shaped by tc
Run add_shards(CLI::App& parser);     // dbDedup Table 6.2, on pairs of servers
Run add_fail_over(CLI::App& parser);  // the compression of the inserts after the primary was lost (dbDedup §6.6)
Run add_majority(CLI::App& parser);   // writes acknowledged by the majority, beside consensus alone

// They share these options.
struct Common {
  std::string server, scratch, report_folder;
};
void add_common(CLI::App& parser, Common& common);
// Returns the server to start: the one asked for, or the one beside this program. Throws std::runtime_error where there is none.
std::string server_of(const Common& common);
// Says what is inserted: a data set, or made-up records like it.
struct Inserted {
  std::string workload = "wiki", data;
  bool synthetic = false;
};
void add_inserted(CLI::App& parser, Inserted& inserted);
// Returns them in file order; at least `records` where they are made up.
Workload load_inserted(const Inserted& inserted, size_t records);
// Returns about so many: whole groups (pages, threads, keys), in the order in which they were written.
Workload load_groups(const Inserted& inserted, size_t records);
// Inserts `order[done]` and the next records of the same collection, at most `batch` of them and none from `end` on. Returns how
// many are done then. Throws std::runtime_error, datasets::replay::ClientError.
size_t insert_batch(datasets::replay::Client& client, const std::string& database, const Workload& workload,
                    const std::vector<uint32_t>& order, size_t done, size_t end, size_t batch);

}  // namespace bench::sets
