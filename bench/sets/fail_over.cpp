// This measures what the loss of a primary costs in compression: its successor finds sources with the feature index that it kept
// as a secondary.
#include <fmt/core.h>

#include <iostream>
#include <memory>
#include <numeric>

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
  size_t records = 6000, after = 2000, batch = 50;
};

constexpr const char* database = "failover";

// The counts so far, on one member.
struct Bytes {
  int64_t logical = 0, stored = 0, log_raw = 0, log_forward = 0;
};

Bytes bytes_of(const bson::Document& status) {
  const auto at = [&](const char* path) { return bson::value_at(status, path).to_int64(); };
  return {at("dedup.logicalBytes"), at("dedup.storedBytes"), at("forwardLog.recordBytes"), at("forwardLog.forwardBytes")};
}

double quotient(int64_t raw, int64_t packed) {
  return packed > 0 ? static_cast<double>(raw) / static_cast<double>(packed) : 0;
}
double storage_ratio(const Bytes& from, const Bytes& to) {
  return quotient(to.logical - from.logical, to.stored - from.stored);
}
double log_ratio(const Bytes& from, const Bytes& to) {
  return quotient(to.log_raw - from.log_raw, to.log_forward - from.log_forward);
}

void insert(const Arguments& arguments, const Workload& workload, ReplicaSet& set, size_t from, size_t to) {
  Client client(set.uri("w=majority"));
  std::vector<uint32_t> order(to);
  std::iota(order.begin(), order.end(), 0);
  for (size_t done = from; done < to;) done = insert_batch(client, database, workload, order, done, to, arguments.batch);
  set.synchronize();
}

struct Ratios {
  double storage_before = 0, storage_after = 0, log_before = 0, log_after = 0;
};

// Measures the last `after` records before the loss, and the first after it. Without `lost` the primary stays, and the same
// records are measured.
Ratios measure(const Arguments& arguments, const Workload& workload, const std::string& server, bool lost) {
  ReplicaSet set({.program = server,
                  .members = 3,
                  .arguments = {"--wiredTigerCacheSizeGB", "0.25", "--quiet"},
                  .scratch = arguments.common.scratch});
  const size_t end = workload.records.size(), loss = end - arguments.after, begin = loss - arguments.after;
  insert(arguments, workload, set, 0, begin);
  const Bytes before = bytes_of(set.settle()), kept_before = bytes_of(set.secondary_status());
  insert(arguments, workload, set, begin, loss);
  const Bytes at_loss = bytes_of(set.settle()), kept_at_loss = bytes_of(set.secondary_status());
  Ratios ratios{storage_ratio(kept_before, kept_at_loss), 0, log_ratio(before, at_loss), 0};
  if (lost) set.fail_over();
  // The new primary has the records that it had as a secondary; its log is its own.
  const Bytes first = bytes_of(set.settle());
  insert(arguments, workload, set, loss, end);
  const Bytes last = bytes_of(set.settle());
  ratios.storage_after = storage_ratio(first, last);
  ratios.log_after = log_ratio(first, last);
  return ratios;
}

int run(const Arguments& arguments) {
  Report report;
  report.title = "Compression after a fail-over";
  report.command = fmt::format("palimpsest bench failover --workload {} --records {} --after {} --batch {}",
                               arguments.inserted.workload, arguments.records, arguments.after, arguments.batch);
  const std::string server = server_of(arguments.common);
  begin(report);
  clean_up_when_interrupted();
  const Workload workload =
      load_groups(arguments.inserted, arguments.records);  // versions of records before the loss come after it
  if (workload.records.size() < 2 * arguments.after) throw std::runtime_error("there are fewer records than twice --after");
  report.about.emplace_back("data", workload.source);

  Table table{"", {"", "storage before", "after", "log before", "after"}, {}};
  Ratios with{};
  Ratios without{};
  for (const bool lost : {false, true}) {
    const Ratios ratios = measure(arguments, workload, server, lost);
    (lost ? with : without) = ratios;
    table.rows.push_back({lost ? "primary killed" : "primary stays", number_text(ratios.storage_before) + "x",
                          number_text(ratios.storage_after) + "x", number_text(ratios.log_before) + "x",
                          number_text(ratios.log_after) + "x"});
    std::cerr << fmt::format("{}: storage {:.2f}x, then {:.2f}x; log {:.2f}x, then {:.2f}x\n", table.rows.back().front(),
                             ratios.storage_before, ratios.storage_after, ratios.log_before, ratios.log_after);
  }
  const std::string note = fmt::format("{} inserts, beside the same where the primary stays", arguments.after);
  const auto share = [](double one, double other) { return other > 0 ? 100 * one / other : 0; };
  report.goals.push_back({"stored after the primary was killed, of the ratio without", "%",
                          share(with.storage_after, without.storage_after), 90, false, note});
  report.goals.push_back(
      {"log after the primary was killed, of the ratio without", "%", share(with.log_after, without.log_after), 90, false, note});
  Figure figure{"fail-over", "Compression in the inserts before and after", {}, {}, {}, {}};
  figure.tables.push_back(std::move(table));
  figure.notes.push_back(
      fmt::format("Three members on this machine. {} records before, then {} and {}; ratios of the middle and last part alone, "
                  "before block compression: of the records of the "
                  "member that leads (before the loss: of one that doesn't), and of the primary's log.",
                  workload.records.size() - 2 * arguments.after, arguments.after, arguments.after));
  report.figures.push_back(std::move(figure));
  finish(report, arguments.common.report_folder);
  return 0;
}

}  // namespace

Run add_fail_over(CLI::App& parser) {
  auto arguments = std::make_shared<Arguments>();
  add_common(parser, arguments->common);
  add_inserted(parser, arguments->inserted);
  parser.add_option("--records", arguments->records, "about how many records to insert, in whole groups")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  parser.add_option("--after", arguments->after, "how many of them are measured after the loss, and right before it")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  parser.add_option("--batch", arguments->batch, "how many documents one command has")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  return [arguments] { return run(*arguments); };
}

}  // namespace bench::sets
