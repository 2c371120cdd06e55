// Table 6.2 has records routed by key over independent pairs of servers, a primary and a secondary each. Every pair deduplicates
// for itself.
#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

#include "bench/data/workload.h"
#include "bench/measure/interrupt.h"
#include "bench/measure/replica_set.h"
#include "bench/options.h"
#include "bench/sets/command.h"
#include "bson/path.h"
#include "datasets/replay/client.h"

namespace bench::sets {
namespace {

using datasets::replay::Client;

struct Arguments {
  Common common;
  Inserted inserted;
  std::vector<size_t> shards{1, 3, 5, 9};
  size_t records = 4000, batch = 50;
};

constexpr const char* database = "shards";

// All versions of a page, posts of a thread or states of a key go to one shard.
size_t shard_of(const Record& record, size_t shards) {
  return XXH3_64bits(&record.group, sizeof record.group) % shards;
}

// Inserts one shard's records in their order; both of the pair acknowledge each command.
void insert(const Arguments& arguments, const Workload& workload, const ReplicaSet& pair, const std::vector<uint32_t>& records) {
  Client client(pair.uri("w=2"));
  for (size_t done = 0; done < records.size();)
    done = insert_batch(client, database, workload, records, done, records.size(), arguments.batch);
}

struct Outcome {
  double rate = 0;                        // records a second, all shards together
  uint64_t logical = 0, stored = 0;       // of the primaries, before block compression
  uint64_t log_raw = 0, log_forward = 0;  // of the primaries
  double storage_ratio() const { return stored ? static_cast<double>(logical) / static_cast<double>(stored) : 0; }
  double log_ratio() const { return log_forward ? static_cast<double>(log_raw) / static_cast<double>(log_forward) : 0; }
};

Outcome replay(const Arguments& arguments, const Workload& workload, const std::string& server, size_t shards) {
  SetOptions options{.program = server,
                     .members = 2,
                     .arguments = {"--wiredTigerCacheSizeGB", "0.25", "--quiet"},
                     .scratch = arguments.common.scratch};
  std::vector<std::unique_ptr<ReplicaSet>> pairs;
  for (size_t i = 0; i < shards; ++i) pairs.push_back(std::make_unique<ReplicaSet>(options));
  std::vector<std::vector<uint32_t>> records(shards);
  const size_t count = workload.records.size();
  for (uint32_t i = 0; i < count; ++i) records[shard_of(workload.records[i], shards)].push_back(i);

  const auto begun = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < shards; ++i) {
    threads.emplace_back([&, i] {
      try {
        insert(arguments, workload, *pairs[i], records[i]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  Outcome outcome;
  outcome.rate = static_cast<double>(count) / std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  for (const auto& pair : pairs) {
    const bson::Document status = pair->settle();
    const auto bytes = [&](const char* path) { return static_cast<uint64_t>(bson::value_at(status, path).to_int64()); };
    outcome.logical += bytes("dedup.logicalBytes");
    outcome.stored += bytes("dedup.storedBytes");
    outcome.log_raw += bytes("forwardLog.recordBytes");
    outcome.log_forward += bytes("forwardLog.forwardBytes");
  }
  return outcome;
}

int run(const Arguments& arguments) {
  Report report;
  report.title = "Sharding (dbDedup, table 6.2)";
  report.command = fmt::format("palimpsest bench shards --workload {} --records {} --batch {}", arguments.inserted.workload,
                               arguments.records, arguments.batch);
  const std::string server = server_of(arguments.common);
  begin(report);
  clean_up_when_interrupted();
  const Workload workload = load_groups(arguments.inserted, arguments.records);
  report.about.emplace_back("data", workload.source);

  Table table{"", {"pairs", "storage ratio", "oplog ratio", "inserts/s"}, {}};
  double one = 0, least = 0;
  for (const size_t shards : arguments.shards) {
    const Outcome outcome = replay(arguments, workload, server, shards);
    const double ratio = outcome.storage_ratio();
    if (one == 0) one = least = ratio;
    least = std::min(least, ratio);
    table.rows.push_back(
        {std::to_string(shards), number_text(ratio) + "x", number_text(outcome.log_ratio()) + "x", number_text(outcome.rate)});
    std::cerr << fmt::format("{} pairs: storage {:.2f}x, oplog {:.2f}x, {:.0f} inserts/s\n", shards, ratio, outcome.log_ratio(),
                             outcome.rate);
  }
  Figure figure{"T6.2", "Compression ratio with sharding, by page, thread or key", {}, {}, {}, {}};
  figure.tables.push_back(std::move(table));
  figure.notes.push_back(
      "A primary and a secondary each, all on this machine; one connection a pair, both acknowledge. Ratios of the primaries' "
      "bytes, before block compression.");
  report.figures.push_back(std::move(figure));
  report.claims.push_back({"T6.2", "Sharding by article hardly affects the ratio (38.4x to 37.9x on nine shards)",
                           fmt::format("{:.2f}x on the fewest, {:.2f}x at worst", one, least), least >= one * 0.95});
  finish(report, arguments.common.report_folder);
  return 0;
}

}  // namespace

Run add_shards(CLI::App& parser) {
  auto arguments = std::make_shared<Arguments>();
  add_common(parser, arguments->common);
  add_inserted(parser, arguments->inserted);
  parser.add_option("--shards", arguments->shards, "numbers of pairs of servers")
      ->capture_default_str()
      ->check(CLI::Range(1, 32));
  parser.add_option("--records", arguments->records, "about how many records to insert, in whole groups")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  parser.add_option("--batch", arguments->batch, "how many documents one command has")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  return [arguments] { return run(*arguments); };
}

}  // namespace bench::sets
