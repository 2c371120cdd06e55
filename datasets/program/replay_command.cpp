// `palimpsest replay SOURCE` is the main job.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "bson/json.h"
#include "datasets/program/commands.h"
#include "datasets/replay/replay.h"
#include "datasets/report/report.h"

namespace datasets::program {
namespace {

struct Arguments {
  replay::ReplayOptions options;
  std::string kind = "detect";
  std::string order = "file";
  std::string on_error = "skip";
  std::string trace = "insert";
  std::string report_folder;
  std::string merge_file;
  bool no_verify = false;
  bool no_compact = false;
  bool dry_run = false;
  bool no_version_keys = false;
};

bson::Document read_report(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto report = bson::from_json(text);
  if (!report.ok()) throw std::runtime_error(path + ": " + report.failure().message);
  return std::move(report).value();
}

int run(Arguments& arguments) {
  using datasets::Problems;
  replay::ReplayOptions& options = arguments.options;
  options.source.kind = *datasets::kind_of(arguments.kind);
  options.source.timestamp_order = arguments.order == "timestamp";
  options.on_error = arguments.on_error == "stop" ? Problems::Policy::stop : Problems::Policy::skip;
  options.writer.trace = *replay::trace_of(arguments.trace);
  options.verify = !arguments.no_verify;
  options.compact = !arguments.no_compact;
  options.version_keys = !arguments.no_version_keys;
  if (arguments.dry_run) {
    std::cout << report::as_json(replay::dry_run(options));
    return 0;
  }
  std::optional<bson::Document> beside;
  if (!arguments.merge_file.empty()) beside = read_report(arguments.merge_file);
  const bson::Document report = replay::run(options);
  const bson::Document* other = beside ? &*beside : nullptr;
  std::cout << report::as_text(report, other);
  if (!arguments.report_folder.empty()) report::write_all(arguments.report_folder, report, other);

  auto sound = [&](const char* when) {
    const bson::Element verification = report.find("verification");
    const bson::Element checked = verification.as_document().find(when);
    return !checked.exists() ||
           (checked.as_document()["differing"].to_int64() == 0 && checked.as_document()["missing"].to_int64() == 0);
  };
  return sound("afterLoad") && sound("afterRestart") ? 0 : 3;
}

}  // namespace

Command add_replay(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  replay::ReplayOptions& options = arguments->options;
  options.writer.uri = "mongodb://127.0.0.1:27017/";
  options.writer.db = "palimpsest";

  CLI::App* parser = app.add_subcommand("replay", "load a data set through the wire, verify it, report what it cost");
  parser
      ->add_option("source", options.source.source,
                   "a file, folder, archive or git repository, or synthetic:wikipedia|enron|stackexchange|boards")
      ->required();
  parser->add_option("--kind", arguments->kind, "the kind of the source, instead of detecting it")
      ->check(CLI::IsMember(datasets::kind_names()));
  parser->add_option("--order", arguments->order, "the order of the data, or that in which it was written")
      ->check(CLI::IsMember({"file", "timestamp"}));
  parser->add_option("--on-error", arguments->on_error, "skip malformed input and refused documents, or stop")
      ->check(CLI::IsMember({"skip", "stop"}));
  parser->add_option("--revision", options.source.revision, "the revision of a git repository")->capture_default_str();
  parser->add_option("--records", options.source.records, "how many records of synthetic data to make")->capture_default_str();
  parser->add_option("--seed", options.source.seed, "the seed of synthetic data and of a trace's choices")->capture_default_str();
  parser->add_option("--limit", options.limit, "load no more than this many records");

  parser->add_option("--uri", options.writer.uri, "the server")->capture_default_str();
  parser->add_option("--db", options.writer.db, "the database")->capture_default_str();
  parser->add_flag("--drop", options.drop, "drop the database first");
  parser->add_option("--connections", options.writer.connections, "how many connections write at the same time")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  parser->add_option("--batch-documents", options.writer.batch_documents, "the most documents of one insert command")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  parser->add_option("--batch-bytes", options.writer.batch_bytes, "about how many bytes one insert command has")
      ->capture_default_str();

  parser->add_option("--trace", arguments->trace, "which reads to make beside the inserts")
      ->check(CLI::IsMember({"insert", "mail", "threads", "views", "wiki"}));
  parser->add_option("--operations", options.operations, "end the trace after this many reads and writes");
  parser->add_option("--populate", options.populate, "revisions loaded before the wiki trace begins")->capture_default_str();
  parser
      ->add_option("--reads-per-insert", options.writer.reads_per_insert,
                   "how many thread reads follow an insert, where the data has no view counts")
      ->capture_default_str();

  parser->add_flag("--no-version-keys", arguments->no_version_keys,
                   "let the server find by likeness which documents are versions of one thing");
  parser->add_flag("--no-verify", arguments->no_verify, "do not read everything back");
  parser->add_flag("--no-compact", arguments->no_compact, "measure the files as the load left them");
  parser->add_option("--settle-seconds", options.settle_seconds, "wait at most this long for the dedup queue")
      ->capture_default_str();
  parser->add_option("--dbpath", options.dbpath, "the server's data directory, to measure its files");
  parser->add_option("--restart-command", options.restart_command,
                     "stops and starts the server; then everything is verified again");
  parser->add_option("--acknowledged-log", options.acknowledged_log,
                     "append every acknowledged write to this file, for `palimpsest verify`");
  parser->add_option("--report", arguments->report_folder, "write report.txt, report.json and report.html into this folder");
  parser->add_option("--report-merge", arguments->merge_file, "the report.json of another run, to show beside this one");
  parser->add_option("--label", options.label, "the name of this run in the report");
  parser->add_flag("--dry-run", arguments->dry_run, "read and build every document, send nothing, and print how fast that was");
  parser->add_flag("--quiet", options.quiet, "show no progress");
  return {parser, [arguments] { return run(*arguments); }};
}

}  // namespace datasets::program
