#include "datasets/replay/replay.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

#include "base/hash.h"
#include "bson/builder.h"
#include "bson/path.h"
#include "datasets/replay/acknowledged_log.h"
#include "datasets/replay/client.h"
#include "datasets/replay/data_directory.h"
#include "datasets/replay/outcome.h"
#include "datasets/replay/progress.h"
#include "datasets/replay/server_watch.h"
#include "datasets/replay/verify.h"
#include "datasets/replay/wiki_mix.h"
#include "datasets/version_key.h"

namespace datasets::replay {
namespace {

using datasets::Item;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

bson::Document command(std::string_view name, int value = 1) {
  bson::Builder builder;
  builder.append(name, value);
  return builder.done();
}

// One replay from beginning to end; its steps share the members.
class Replay {
 public:
  explicit Replay(const ReplayOptions& options)
      : options_(options), progress_(options.quiet), problems_(options.on_error), client_(options.writer.uri) {
    if (!options.acknowledged_log.empty()) log_ = std::make_unique<AcknowledgedLog>(options.acknowledged_log);
  }

  bson::Document run() {
    if (!client_.wait_until_up(10)) throw ClientError("no server answers at " + options_.writer.uri, 0);
    if (options_.drop) client_.command(db(), command("dropDatabase"));
    load();
    settle();
    measure_server();
    if (options_.verify) {
      ledger_.settle();
      outcome_.verified = verify("");
      outcome_.status_after_reading = status();
      if (!options_.restart_command.empty()) restart();
    }
    return outcome_.to_document();
  }

 private:
  const std::string& db() const { return options_.writer.db; }

  void load() {
    datasets::Source source(options_.source, problems_);
    ServerWatch watch(options_.writer.uri, measured_);
    const auto begun = Clock::now();
    const double cpu = cpu_seconds();
    {
      WriterOptions writer_options = options_.writer;
      writer_options.stop_on_failure = options_.on_error == datasets::Problems::Policy::stop;
      if (options_.operations > 0) writer_options.operations_max = options_.operations;
      if (writer_options.trace == Trace::threads) index_threads();
      Writer writer(writer_options, ledger_, measured_, log_.get());
      if (writer_options.trace == Trace::wiki) {
        load_wiki_mix(source, writer);
      } else {
        load_all(source, writer);
      }
      writer.barrier();
    }
    outcome_.load_seconds = seconds_since(begun);
    outcome_.client_cpu_seconds = cpu_seconds() - cpu;
    outcome_.samples = watch.stop();
    outcome_.take(measured_);
    outcome_.source = options_.source.source;
    outcome_.kind = datasets::kind_name(source.kind());
    outcome_.order = options_.source.timestamp_order ? "timestamp" : "file";
    outcome_.trace = trace_name(options_.writer.trace);
    outcome_.label = options_.label;
    outcome_.unknown_files = source.unknown();
    outcome_.problem_count = problems_.count();
    for (const datasets::Problem& problem : problems_.kept()) outcome_.problems.push_back(datasets::to_string(problem));
    progress_.say(fmt::format("loaded {} documents, {} in {}: {} inserts/s, {}/s", grouped(outcome_.documents),
                              bytes_text(static_cast<double>(outcome_.logical_bytes)), duration_text(outcome_.load_seconds),
                              grouped(static_cast<uint64_t>(outcome_.inserts_per_second())),
                              bytes_text(static_cast<double>(outcome_.logical_bytes) / outcome_.load_seconds)));
    for (size_t i = 0; i < outcome_.problems.size() && i < 10; ++i) progress_.say("skipped: " + outcome_.problems[i]);
    if (outcome_.problem_count > 10) progress_.say(fmt::format("skipped: {} more", outcome_.problem_count - 10));
    if (outcome_.documents == 0 && outcome_.problem_count == 0)
      throw datasets::InputError(options_.source.source + ": there is nothing in it that can be loaded; see --kind");
  }

  std::optional<Item> next(datasets::Source& source) {
    if (taken_ == options_.limit) return std::nullopt;
    auto item = source.next();
    if (item) {
      ++taken_;
      if (collections_.insert(item->collection).second && options_.version_keys) declare(item->collection);
    }
    progress_.show(static_cast<uint64_t>(measured_.documents.get()), static_cast<uint64_t>(measured_.logical_bytes.get()),
                   source.fraction());
    return item;
  }

  // Tells the server which documents are versions of one thing. On a server without that option the collection is a plain one.
  void declare(const std::string& collection) {
    const std::string_view key = datasets::version_key(collection);
    if (key.empty()) return;
    constexpr uint32_t unknown_field = 40415, unknown_option = 72, exists = 48;
    bson::Builder create;
    create.append("create", collection);
    create.object("dedup").append("key", key);
    try {
      client_.command(db(), create.done());
    } catch (const ClientError& error) {
      if (error.code() != unknown_field && error.code() != unknown_option && error.code() != exists) throw;
    }
  }

  void load_all(datasets::Source& source, Writer& writer) {
    while (auto item = next(source)) {
      writer.put(std::move(*item));
      if (options_.operations > 0 && writer.operations() >= options_.operations) break;
    }
  }

  void load_wiki_mix(datasets::Source& source, Writer& writer) {
    Popularity popularity(options_.seed);
    auto remember = [&](const Item& item) { popularity.written(item.collection, item.group, item.document.find("_id")); };
    for (uint64_t i = 0; i < options_.populate; ++i) {
      auto item = next(source);
      if (!item) break;
      remember(*item);
      writer.put(std::move(*item));
    }
    writer.barrier();
    progress_.say(fmt::format("{} revisions to begin with", grouped(static_cast<uint64_t>(measured_.documents.get()))));
    WikiMix mix(options_.writer, popularity, measured_);
    mix.run(options_.operations > 0 ? options_.operations : 100'000, [&] {
      auto item = next(source);
      if (!item) return false;
      const Item copy = *item;
      writer.put(std::move(*item));
      writer.barrier();
      remember(copy);
      return true;
    });
  }

  // Without this index, thread reads would scan the collection.
  void index_threads() {
    bson::Builder create;
    create.append("createIndexes", "posts");
    {
      bson::ArrayBuilder indexes = create.array("indexes");
      bson::Builder index = indexes.object();
      index.object("key").append("thread.id", 1);
      index.append("name", "thread.id_1");
    }
    client_.command(db(), create.done());
  }

  bson::Document status() { return client_.try_command("admin", command("serverStatus")).value_or(bson::Document()); }

  // Waits until the server has encoded and written back what it wants to; then makes a checkpoint and
  // compacts.
  void settle() {
    auto begun = Clock::now();
    for (;;) {
      const bson::Document now = status();
      auto left = [&](const char* path) { return bson::value_at(now, path).to_int64(); };
      const int64_t queued = left("dedup.queue.records"), behind = left("dedup.queue.collectionsBehind"),
                    unwritten = left("dedup.writeBack.records");
      if (queued == 0 && left("dedup.queue.bytes") == 0 && behind == 0 && unwritten == 0) break;
      if (seconds_since(begun) > options_.settle_seconds) {
        progress_.say(fmt::format("the server still has {} records to encode and {} to write back", queued, unwritten));
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    outcome_.drain_seconds = seconds_since(begun);
    begun = Clock::now();
    checkpoint();
    outcome_.checkpoint_seconds = seconds_since(begun);
    begun = Clock::now();
    if (options_.compact) compact();
    outcome_.compact_seconds = seconds_since(begun);
  }

  void checkpoint() { client_.try_command("admin", command("fsync")); }

  // Blocks at a file's end only become free at the checkpoint after the one that moved their contents, so this compacts until the
  // files don't get smaller any more.
  void compact() {
    constexpr int passes_max = 6;
    int64_t before = 0;
    for (int pass = 0; pass < passes_max; ++pass) {
      for (const std::string& collection : collections_) {
        bson::Builder builder;
        builder.append("compact", collection);
        client_.try_command(db(), builder.done());
      }
      checkpoint();
      const int64_t now = file_bytes();
      if (pass > 0 && now > before - before / 100) break;
      before = now;
    }
  }

  int64_t file_bytes() {
    if (!options_.dbpath.empty()) return static_cast<int64_t>(measure(options_.dbpath).data_bytes);
    return bson::value_at(status(), "dedup.fileBytes").to_int64();
  }

  std::optional<bson::Document> coll_stats(const std::string& database, const std::string& collection) {
    bson::Builder stats;
    stats.append("collStats", collection);
    return client_.try_command(database, stats.done());
  }

  void measure_server() {
    outcome_.server_status = status();
    outcome_.db_stats = client_.try_command(db(), command("dbStats")).value_or(bson::Document());
    outcome_.build_info = client_.try_command("admin", command("buildInfo")).value_or(bson::Document());
    for (const std::string& collection : collections_) {
      const auto stats = coll_stats(db(), collection);
      if (!stats) continue;
      outcome_.storage_bytes += static_cast<uint64_t>(stats->find("storageSize").to_int64());
      outcome_.index_bytes += static_cast<uint64_t>(stats->find("totalIndexSize").to_int64());
    }
    if (options_.dbpath.empty()) return;
    // "statistics:table:collection-7-12" names the file collection-7-12.wt.
    std::string oplog_file;
    if (const auto stats = coll_stats("local", "oplog.rs")) {
      const bson::ValueView uri = bson::value_at(*stats, "wiredTiger.uri");
      if (uri.is_string()) oplog_file = std::string(uri.as_string().substr(uri.as_string().rfind(':') + 1)) + ".wt";
    }
    outcome_.files = measure(options_.dbpath, oplog_file);
  }

  Verified verify(const std::string& when) {
    const Verified verified = verify_all(client_, db(), {collections_.begin(), collections_.end()}, ledger_);
    progress_.say(
        fmt::format("{} of {} documents read back byte for byte{} in {}{}", grouped(verified.documents), grouped(ledger_.size()),
                    when, duration_text(verified.seconds),
                    verified.sound() ? "" : fmt::format("; {} differ, {} are missing", verified.differing, verified.missing)));
    for (const std::string& example : verified.examples) progress_.say("  " + example);
    return verified;
  }

  void restart() {
    progress_.say("restarting the server");
    const auto begun = Clock::now();
    const int status = std::system(options_.restart_command.c_str());  // NOLINT: the command is the user's own
    if (status != 0) throw ClientError("the restart command failed with exit code " + std::to_string(status), 0);
    if (!client_.wait_until_up(300)) throw ClientError("the server doesn't answer after its restart", 0);
    outcome_.restart_seconds = seconds_since(begun);
    outcome_.verified_after_restart = verify(" after a restart");
  }

  const ReplayOptions& options_;
  Progress progress_;
  datasets::Problems problems_;
  Client client_;
  std::unique_ptr<AcknowledgedLog> log_;
  Ledger ledger_;
  Measured measured_;
  std::set<std::string> collections_;
  uint64_t taken_ = 0;
  Outcome outcome_;
};

}  // namespace

bson::Document run(const ReplayOptions& options) {
  return Replay(options).run();
}

bson::Document dry_run(const ReplayOptions& options) {
  Progress progress(options.quiet);
  datasets::Problems problems(options.on_error);
  datasets::Source source(options.source, problems);
  Measured measured;
  const auto begun = Clock::now();
  const double cpu = cpu_seconds();
  uint64_t checksum = 0;
  for (uint64_t taken = 0; taken < options.limit; ++taken) {
    const auto item = source.next();
    if (!item) break;
    checksum ^= document_hash(item->document);  // the ledger's share of the work
    (item->op == Item::Op::insert    ? measured.documents
     : item->op == Item::Op::replace ? measured.replaced
                                     : measured.removed)
        .add();
    measured.logical_bytes.add(static_cast<int64_t>(item->logical_bytes()));
    measured.text_bytes.add(static_cast<int64_t>(item->text_bytes));
    progress.show(static_cast<uint64_t>(measured.documents.get()), static_cast<uint64_t>(measured.logical_bytes.get()),
                  source.fraction());
  }
  const double seconds = seconds_since(begun);
  const double items =
      std::max(1.0, static_cast<double>(measured.documents.get() + measured.replaced.get() + measured.removed.get()));
  const auto bytes = static_cast<double>(measured.logical_bytes.get());
  for (const datasets::Problem& problem : problems.kept()) progress.say("skipped: " + datasets::to_string(problem));
  bson::Builder out;
  out.append("source", options.source.source).append("kind", datasets::kind_name(source.kind()));
  out.append("documents", measured.documents.get())
      .append("replaced", measured.replaced.get())
      .append("removed", measured.removed.get());
  out.append("logicalBytes", measured.logical_bytes.get()).append("textBytes", measured.text_bytes.get());
  out.append("seconds", seconds).append("megabytesPerSecond", bytes / 1e6 / seconds);
  out.append("cpuMicrosecondsPerDocument", (cpu_seconds() - cpu) * 1e6 / items);
  out.append("problems", static_cast<int64_t>(problems.count())).append("unknownFiles", static_cast<int64_t>(source.unknown()));
  out.append("checksum", static_cast<int64_t>(checksum));
  return out.done();
}

}  // namespace datasets::replay
