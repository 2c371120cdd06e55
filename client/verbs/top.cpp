// `palimpsest top` shows what a server does, again each second.
#include <fmt/core.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include "bson/json.h"
#include "client/connection.h"
#include "client/table.h"
#include "client/verbs.h"
#include "datasets/replay/progress.h"

namespace client {
namespace {

constexpr auto right = Table::Align::right;
constexpr size_t slowest_max = 10;

struct Arguments {
  Target target;
  bool once = false;
  double interval = 1;
};

struct Sample {
  bson::Document status;
  std::chrono::steady_clock::time_point at;
};

Sample take(Connection& server) {
  Sample sample{server.run("admin", "serverStatus"), std::chrono::steady_clock::now()};
  return sample;
}

bson::Element at(bson::DocumentView document, std::initializer_list<std::string_view> path) {
  bson::Element found;
  for (const std::string_view name : path) {
    found = document[name];
    if (!found.is_object())
      document = bson::DocumentView();
    else
      document = found.as_document();
  }
  return found;
}

// Rates say how much happened per second between two samples.
class Rates {
 public:
  Rates(const Sample& before, const Sample& now)
      : before_(before.status),
        now_(now.status),
        seconds_(std::max(0.001, std::chrono::duration<double>(now.at - before.at).count())) {}

  double rate(std::initializer_list<std::string_view> path) const { return difference(path) / seconds_; }
  // The mean latency of the operations that ended meanwhile, in microseconds.
  double latency(std::string_view kind) const {
    const double operations = difference({"opLatencies", kind, "ops"});
    return operations > 0 ? difference({"opLatencies", kind, "latency"}) / operations : 0;
  }
  bson::Element now(std::initializer_list<std::string_view> path) const { return at(now_, path); }

 private:
  // A restart sets the counters back.
  double difference(std::initializer_list<std::string_view> path) const {
    return std::max(0.0, at(now_, path).to_double() - at(before_, path).to_double());
  }

  const bson::DocumentView before_, now_;
  const double seconds_;
};

constexpr const char* operations[] = {"insert", "query", "update", "delete", "getmore", "command"};
constexpr const char* latencies[] = {"reads", "writes", "commands"};

// The operations that run longest, longest first.
std::vector<bson::Document> slowest(Connection& server) {
  bson::Builder command;
  command.append("currentOp", 1).append("active", true);
  const bson::Document reply = server.run("admin", command.done());
  std::vector<bson::Document> found;
  for (const bson::Element& one : reply.view()["inprog"].as_document()) {
    if (!one.is_object()) continue;
    const bson::DocumentView operation = one.as_document();
    if (operation["command"].is_object() && operation["command"].as_document().has("currentOp")) continue;
    if (!operation["microsecs_running"].is_number()) continue;
    found.emplace_back(operation);
  }
  const auto micros = [](const bson::Document& one) { return one.view()["microsecs_running"].to_int64(); };
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return micros(a) > micros(b); });
  if (found.size() > slowest_max) found.resize(slowest_max);
  return found;
}

bson::Document document_of(const Rates& rates, const std::vector<bson::Document>& slow) {
  bson::Builder out;
  out.append("host", rates.now({"host"})).append("time", rates.now({"localTime"})).append("uptime", rates.now({"uptime"}));
  {
    auto per_second = out.object("operationsPerSecond");
    for (const char* kind : operations) per_second.append(kind, rates.rate({"opcounters", kind}));
  }
  {
    auto means = out.object("latencyMicros");
    for (const char* kind : latencies) means.append(kind, rates.latency(kind));
  }
  {
    auto connections = out.object("connections");
    connections.append("current", rates.now({"connections", "current"}));
    connections.append("available", rates.now({"connections", "available"}));
  }
  {
    auto network = out.object("networkBytesPerSecond");
    network.append("in", rates.rate({"network", "bytesIn"})).append("out", rates.rate({"network", "bytesOut"}));
  }
  out.append("residentMegabytes", rates.now({"mem", "resident"}));
  {
    auto list = out.array("slowest");
    for (const bson::Document& one : slow) list.append(one.view());
  }
  return out.done();
}

void print_view(std::ostream& out, const Rates& rates, const std::vector<bson::Document>& slow) {
  out << fmt::format("{}  {}  up {}\n", printable(text_of(rates.now({"host"}))), time_text(rates.now({"localTime"}).as_date()),
                     datasets::replay::duration_text(rates.now({"uptime"}).to_double()));
  out << fmt::format("{} connections, {} free;  network {}/s in, {}/s out;  memory {}\n\n",
                     count_text(rates.now({"connections", "current"}).to_int64()),
                     count_text(rates.now({"connections", "available"}).to_int64()),
                     size_text(static_cast<int64_t>(rates.rate({"network", "bytesIn"}))),
                     size_text(static_cast<int64_t>(rates.rate({"network", "bytesOut"}))),
                     size_text(rates.now({"mem", "resident"}).to_int64() << 20));
  Table counts({{"operations a second"},
                {"insert", right},
                {"query", right},
                {"update", right},
                {"delete", right},
                {"getmore", right},
                {"command", right}});
  std::vector<std::string> cells = {""};
  for (const char* kind : operations) cells.push_back(count_text(static_cast<int64_t>(rates.rate({"opcounters", kind}) + 0.5)));
  counts.add(cells);
  counts.print(out);
  out << "\n";
  Table means({{"mean latency"}, {"reads", right}, {"writes", right}, {"commands", right}});
  cells = {""};
  for (const char* kind : latencies) cells.push_back(micros_text(rates.latency(kind)));
  means.add(cells);
  means.print(out);
  if (slow.empty()) return;
  out << "\n";
  Table running({{"running", right}, {"opid", right}, {"operation"}, {"namespace"}, {"client"}, {"doing"}});
  for (const bson::Document& one : slow) {
    const bson::DocumentView operation = one;
    std::string doing = text_of(operation["msg"]);
    if (doing.empty()) doing = text_of(operation["planSummary"]);
    running.add({micros_text(operation["microsecs_running"].to_double()), std::to_string(operation["opid"].to_int64()),
                 printable(text_of(operation["op"])), printable(text_of(operation["ns"])),
                 printable(text_of(operation["client"])), printable(doing)});
  }
  running.print(out);
}

int run(const Arguments& arguments) {
  Connection server(arguments.target);
  const bool clears = !arguments.once && !arguments.target.json && ::isatty(STDOUT_FILENO) == 1;
  for (Sample before = take(server);;) {
    std::this_thread::sleep_for(std::chrono::duration<double>(arguments.interval));
    Sample now = take(server);
    const Rates rates(before, now);
    const auto slow = slowest(server);
    std::ostringstream page;
    if (arguments.target.json) {
      print_json(page, document_of(rates, slow));
    } else {
      print_view(page, rates, slow);
      if (!clears && !arguments.once) page << "\n";
    }
    // The page is written over the one before, and what is left of that is cleared: a screen that is emptied first flickers.
    std::string text = page.str();
    if (clears) {
      for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n', end + 4)) text.insert(end, "\x1b[K");
      text = "\x1b[H" + text + "\x1b[J";
    }
    std::cout << text << std::flush;
    if (arguments.once || !std::cout) return 0;
    before = std::move(now);
  }
}

}  // namespace

Verb add_top(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("top", "show operations, latencies, connections and the slowest operations, each second");
  arguments->target.add_options(*verb, "");
  verb->add_flag("--once", arguments->once, "show one interval, and end");
  verb->add_option("--interval", arguments->interval, "seconds from one view to the next")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  return {verb, [arguments] { return run(*arguments); }};
}

}  // namespace client
