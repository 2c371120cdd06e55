// Measures what a small command over a socket costs the server.
#include "bench/wire/command.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "base/random.h"
#include "bench/data/workload.h"
#include "bench/measure/clients.h"
#include "bench/measure/cpu_clock.h"
#include "bench/measure/interrupt.h"
#include "bench/measure/process.h"
#include "bench/measure/server.h"
#include "bench/options.h"
#include "bench/sets/command.h"
#include "bson/builder.h"

namespace bench::wire {
namespace {

constexpr const char* database = "bench";
constexpr size_t batch_documents = 100;
constexpr size_t document_bytes_max = 16 << 10;
constexpr int blocked_ms = 1'500;
constexpr size_t blocked_connections = 64;

struct Settings {
  std::string server, scratch, report_folder, data, address;
  int pid = 0;
  size_t documents = 5'000;
  std::vector<size_t> connections = {1, 8, 32, 256};
  std::vector<std::string> operations, contents;
  double seconds = 2;
  int rounds = 3;
  bool tiny = false, synthetic = false;
};

struct Content {
  const char* name;
  const char* workload;
};
constexpr Content contents[] = {{"text", "mail"}, {"json", "versions"}, {"html", "stackexchange"}};

// The documents of one kind. They are in a collection of their own, under _ids from 0.
class Collection {
 public:
  Collection(const Content& content, const Settings& settings) : name_(content.name) {
    WorkloadOptions options{.data = settings.data.empty() ? find_data() : settings.data, .synthetic_bytes = 16 << 20};
    if (settings.synthetic) options.data.reset();
    for (const Record& record : load(content.workload, options).records) {
      if (documents_.size() == settings.documents) break;
      if (record.document.size() <= document_bytes_max)
        documents_.push_back(with_id(static_cast<int64_t>(documents_.size()), bson::DocumentView(record.document)));
    }
    next_id_ = static_cast<int64_t>(documents_.size());
  }

  const std::string& name() const { return name_; }
  void fill(Clients& clients) {
    clients.ask(command("delete", [](bson::Builder& out) {
      auto deletes = out.array("deletes");
      auto one = deletes.object();
      one.object("q");
      one.append("limit", 0);
    }));
    for (size_t begin = 0; begin < documents_.size(); begin += batch_documents) {
      clients.ask(command("insert", [&](bson::Builder& out) {
        auto array = out.array("documents");
        for (size_t i = begin; i < std::min(documents_.size(), begin + batch_documents); ++i) array.append(documents_[i]);
      }));
    }
  }

  bson::Document request(const std::string& operation) {
    const auto some = static_cast<int64_t>(random_.below(documents_.size()));
    if (operation == "ping") return make([](bson::Builder& out) { out.append("ping", 1).append("$db", "admin"); });
    if (operation == "find") {
      return command("find", [&](bson::Builder& out) {
        out.object("filter").append("_id", some);
        out.append("limit", 1).append("singleBatch", true);
      });
    }
    if (operation == "range") {
      return command("find", [&](bson::Builder& out) {
        out.object("filter").object("_id").append("$gte", some);
        out.append("limit", 100);
      });
    }
    if (operation == "update") {
      return command("update", [&](bson::Builder& out) {
        auto updates = out.array("updates");
        auto one = updates.object();
        one.object("q").append("_id", some);
        one.object("u").object("$set").append("n", static_cast<int64_t>(random_.below(1'000'000)));
      });
    }
    return command("insert", [&](bson::Builder& out) {
      auto array = out.array("documents");
      for (size_t i = 0; i < (operation == "insertMany" ? batch_documents : 1); ++i) {
        array.append(with_id(next_id_, documents_[static_cast<size_t>(next_id_) % documents_.size()]));
        ++next_id_;
      }
    });
  }

 private:
  template <class Append>
  static bson::Document make(Append append) {
    bson::Builder out;
    append(out);
    return out.done();
  }
  static bson::Document with_id(int64_t id, bson::DocumentView document) {
    return make([&](bson::Builder& out) {
      out.append("_id", id);
      for (const auto& field : document) {
        if (field.name != "_id") out.append_element(field);
      }
    });
  }
  template <class Append>
  bson::Document command(const char* name, Append append) {
    return make([&](bson::Builder& out) {
      out.append(name, name_);
      append(out);
      out.append("$db", database);
    });
  }

  std::string name_;
  std::vector<bson::Document> documents_;
  int64_t next_id_ = 0;
  base::Random random_{7};
};

struct Cell {
  std::vector<double> rates, cpu_us, switches, p50_us, p99_us;
};

// Reads run first: after writes the encoder is busy, and its CPU time would be counted as theirs.
const char* const all_operations[] = {"ping", "find", "range", "insert", "update", "insertMany"};

Cell measure(const Settings& settings, pid_t pid, const std::string& address, Collection& collection,
             const std::string& operation, size_t connections) {
  Cell cell;
  Clients clients(address, connections);
  const auto next = [&](size_t) { return collection.request(operation); };
  clients.run(std::chrono::duration<double>(settings.seconds / 4), next);
  for (int round = 0; round < settings.rounds; ++round) {
    const Usage before = usage_of(pid);
    const Lap lap = clients.run(std::chrono::duration<double>(settings.seconds), next);
    const Usage used = usage_of(pid) - before;
    const auto operations = static_cast<double>(lap.operations);
    cell.rates.push_back(operations / lap.seconds);
    cell.cpu_us.push_back(used.cpu_seconds * 1e6 / operations);
    cell.switches.push_back(static_cast<double>(used.switches) / operations);
    cell.p50_us.push_back(lap.latency.p50_us);
    cell.p99_us.push_back(lap.latency.p99_us);
  }
  return cell;
}

std::vector<std::string> row_of(const std::string& operation, size_t connections, const Cell& cell) {
  return {operation,
          std::to_string(connections),
          fmt::format("{:.0f}", median(cell.rates)),
          fmt::format("{:.1f}", median(cell.cpu_us)),
          fmt::format("{:.2f}", median(cell.switches)),
          fmt::format("{:.0f}", median(cell.p50_us)),
          fmt::format("{:.0f}", median(cell.p99_us))};
}

void add_goal(Report& report, const std::string& content, const std::string& operation, size_t connections, const Cell& cell) {
  const auto goal = [&](const std::string& what, const std::string& unit, double measured, double reach) {
    report.goals.push_back(
        {fmt::format("{} of {}, {} connection{}: {}", operation, content, connections, connections == 1 ? "" : "s", what),
         unit,
         measured,
         reach,
         true,
         {}});
  };
  if (operation == "find" && connections == 1) {
    goal("context switches", "", median(cell.switches), 1.3);
    goal("CPU", "µs", median(cell.cpu_us), 20);
  }
  if (operation == "find" && connections == 32) goal("CPU", "µs", median(cell.cpu_us), 12);
  if (operation == "insert" && connections == 1) goal("CPU", "µs", median(cell.cpu_us), 25);
}

// Times pings while a fail point blocks more commands than the server has threads.
void measure_blocked(const Settings& settings, const std::string& server, Report& report) {
  const Server own(server, {"--setParameter", "enableTestCommands=1", "--quiet"}, settings.scratch);
  Clients slow(own.host(), blocked_connections), quick(own.host(), 1);
  bson::Builder arm;
  arm.append("configureFailPoint", "failCommand");
  arm.object("mode").append("times", static_cast<int32_t>(blocked_connections));
  {
    auto data = arm.object("data");
    data.array("failCommands").append("count");
    data.append("blockConnection", true).append("blockTimeMS", settings.tiny ? 100 : blocked_ms);
  }
  quick.ask(arm.append("$db", "admin").done());
  bson::Builder count, ping;
  const bson::Document blocked = count.append("count", "c").append("$db", database).done();
  const bson::Document pings = ping.append("ping", 1).append("$db", "admin").done();
  std::thread others([&] { slow.run(std::chrono::duration<double>(0), [&](size_t) { return blocked; }); });
  const auto ask = [&](double seconds) {
    return quick.run(std::chrono::duration<double>(seconds), [&](size_t) { return pings; });
  };
  // The blocked commands arrive together. The server lends threads for some ten milliseconds, and then has one for each.
  const Lap arriving = ask(settings.tiny ? 0.02 : 0.3);
  const Lap lap = ask(settings.tiny ? 0.03 : 0.9);
  others.join();
  report.goals.push_back(
      {fmt::format("ping while {} commands are blocked: the slowest of {}", blocked_connections, lap.operations), "ms",
       lap.latency.most_us / 1000, 10, true,
       fmt::format("median {:.0f} µs; while they arrive the slowest takes {:.1f} ms", lap.latency.p50_us,
                   arriving.latency.most_us / 1000)});
}

int run(Settings& settings) {
  clean_up_when_interrupted();
  if (settings.tiny)
    settings = {.server = settings.server,
                .scratch = settings.scratch,
                .report_folder = settings.report_folder,
                .data = {},
                .address = {},
                .documents = 50,
                .connections = {1, 2},
                .operations = settings.operations,
                .contents = settings.contents,
                .seconds = 0.02,
                .rounds = 1,
                .tiny = true,
                .synthetic = true};
  if (settings.operations.empty()) settings.operations.assign(std::begin(all_operations), std::end(all_operations));
  std::optional<Server> own;
  std::string program;
  if (settings.address.empty()) {
    program = sets::server_of({.server = settings.server, .scratch = {}, .report_folder = {}});
    own.emplace(program, std::vector<std::string>{"--wiredTigerCacheSizeGB", "1", "--quiet"}, settings.scratch);
    settings.address = own->host();
    settings.pid = own->pid();
  }
  Report report;
  report.title = "Small commands over sockets";
  report.command = fmt::format("palimpsest bench wire --documents {} --seconds {} --rounds {}", settings.documents,
                               settings.seconds, settings.rounds);
  begin(report);
  int number = 1;
  for (const Content& content : contents) {
    if (!settings.contents.empty() &&
        std::find(settings.contents.begin(), settings.contents.end(), content.name) == settings.contents.end())
      continue;
    Collection collection(content, settings);
    Figure figure{fmt::format("W{}", number++),
                  fmt::format("Documents of {}", content.name),
                  {},
                  {},
                  {},
                  {"CPU time and context switches are the server's alone. All figures are medians of the rounds."}};
    {
      Clients filler(settings.address, 1);
      collection.fill(filler);
    }
    if (own && !settings.tiny) own->wait_until_idle();
    Table table{"", {"operation", "connections", "a second", "CPU µs", "context switches", "p50 µs", "p99 µs"}, {}};
    for (const std::string& operation : settings.operations) {
      for (const size_t connections : settings.connections) {
        const Cell cell = measure(settings, settings.pid, settings.address, collection, operation, connections);
        table.rows.push_back(row_of(operation, connections, cell));
        add_goal(report, content.name, operation, connections, cell);
      }
    }
    figure.tables.push_back(std::move(table));
    report.figures.push_back(std::move(figure));
  }
  if (own) measure_blocked(settings, program, report);
  finish(report, settings.report_folder);
  return 0;
}

}  // namespace

Run add_options(CLI::App& parser) {
  auto settings = std::make_shared<Settings>();
  add_report(parser, settings->report_folder);
  add_scratch(parser, settings->scratch);
  parser.add_option("--server", settings->server, "the palimpsestd to start (default: beside this program)");
  CLI::Option* const address =
      parser.add_option("--address", settings->address, "HOST:PORT of a running server of any make, instead of starting one");
  address->needs(
      parser.add_option("--pid", settings->pid, "process id of that server")->check(CLI::PositiveNumber)->needs(address));
  parser.add_option("--data", settings->data, "the folder with the data sets (default: shared/datasets above)");
  parser.add_flag("--synthetic", settings->synthetic, "use made-up data, even where there is real data");
  parser.add_option("--documents", settings->documents, "how many documents of each kind there are")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  parser.add_option("--connections", settings->connections, "numbers of connections that are open at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  parser.add_option("--operation", settings->operations, "measure this alone; give it again for others")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(all_operations), std::end(all_operations))));
  parser.add_option("--content", settings->contents, "measure this alone; give it again for others")
      ->check(CLI::IsMember({"text", "json", "html"}));
  parser.add_option("--seconds", settings->seconds, "how long a round is")->capture_default_str()->check(CLI::Range(0.01, 600.0));
  parser.add_option("--rounds", settings->rounds, "how many rounds there are; figures are their medians")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  parser.add_flag("--tiny", settings->tiny, "a few documents for a moment, to see that it works");
  return [settings] { return run(*settings); };
}

}  // namespace bench::wire
