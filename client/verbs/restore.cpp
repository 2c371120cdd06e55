// `palimpsest restore` makes a data directory of a backup, and `--list` shows what an archive has.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "bson/builder.h"
#include "client/number_checks.h"
#include "client/offline_check.h"
#include "client/progress_bar.h"
#include "client/restore_moment.h"
#include "client/table.h"
#include "client/verbs.h"
#include "storage/upkeep/backup_archive.h"
#include "storage/upkeep/moment.h"

namespace client {
namespace {

constexpr auto right = Table::Align::right;

struct Arguments {
  std::string archive, target;
  std::string until;
  uint64_t number = 0;
  bool list = false, check = false, json = false;
  CheckOptions check_options;
};

int list(const Arguments& arguments) {
  Table table({{"number", right}, {"time"}, {"log until"}, {"kind"}, {"files", right}, {"size", right}, {"id"}});
  for (const storage::ArchivedBackup& one : storage::archived_backups(arguments.archive)) {
    const bool whole = one.head.link.from.empty();
    const storage::Stamp log_end = one.head.log_below == 0 ? 0 : one.head.log_below - 1;
    if (arguments.json) {
      bson::Builder out;
      out.append("number", static_cast<int64_t>(one.number)).append("time", bson::Date{one.head.time_ms}).append("whole", whole);
      out.append("files", static_cast<int64_t>(one.head.files.size())).append("bytes", static_cast<int64_t>(one.file_bytes));
      out.append("id", one.head.link.id);
      if (log_end != 0)
        out.append("logUntil", bson::Timestamp{static_cast<uint32_t>(log_end >> 32), static_cast<uint32_t>(log_end)});
      print_json(std::cout, out.done());
    } else {
      table.add({std::to_string(one.number), time_text(bson::Date{one.head.time_ms}),
                 log_end == 0 ? "-" : storage::moment_text(log_end), whole ? "whole" : "incremental",
                 count_text(static_cast<int64_t>(one.head.files.size())), size_text(static_cast<int64_t>(one.file_bytes)),
                 one.head.link.id});
    }
  }
  table.print(std::cout);
  return 0;
}

storage::BackupHead restore_stdin(const std::filesystem::path& target) {
  storage::BackupRestorer restorer(target);
  restorer.begin();
  ProgressBar bar("restoring", true);
  std::string buffer(1 << 20, '\0');
  for (uint64_t read = 0;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::runtime_error("cannot read: " + std::string(std::strerror(errno)));
    if (got == 0) break;
    restorer.write(base::BytesView(buffer).substr(0, static_cast<size_t>(got)));
    bar.show(read += static_cast<uint64_t>(got), restorer.head() ? restorer.head()->bytes : 0);
  }
  restorer.end();
  restorer.complete();
  return *restorer.head();
}

int to_moment(const Arguments& arguments, const std::filesystem::path& target) {
  const storage::Stamp until = storage::parse_moment(arguments.until);
  const RestoredMoment restored =
      restore_until(storage::plain_path(arguments.archive), until, target, arguments.check_options.encryption);
  if (arguments.json) {
    const storage::Stamp newest = storage::parse_moment(restored.newest);
    bson::Builder out;
    out.append("directory", target.string());
    out.append("newest", bson::Timestamp{static_cast<uint32_t>(newest >> 32), static_cast<uint32_t>(newest)});
    out.append("number", static_cast<int64_t>(restored.base.number)).append("logOf", static_cast<int64_t>(restored.log));
    out.append("transactions", restored.transactions);
    print_json(std::cout, out.done());
  } else {
    std::cout << target.string() << " is as the server was at " << storage::moment_text(until) << ": backup "
              << restored.base.number << " and " << count_text(restored.transactions) << " transactions of the log that backup "
              << restored.log << " has, up to " << restored.newest << "\n";
  }
  return arguments.check ? check_directory(target, arguments.check_options, arguments.json) : 0;
}

int run(const Arguments& arguments) {
  if (arguments.list) return list(arguments);
  const auto target = std::filesystem::absolute(storage::plain_path(arguments.target));
  if (!arguments.until.empty()) return to_moment(arguments, target);
  storage::BackupHead head;
  size_t backups = 1;
  if (arguments.archive == "-") {
    head = restore_stdin(target);
  } else {
    ProgressBar bar("restoring", true);
    storage::Restored restored = storage::restore_archive(storage::plain_path(arguments.archive), arguments.number, target,
                                                          [&](uint64_t done, uint64_t total) { bar.show(done, total); });
    head = std::move(restored.backup.head);
    backups = restored.backups;
  }
  uint64_t bytes = 0;
  for (const auto& file : head.files) bytes += file.bytes;
  if (arguments.json) {
    bson::Builder out;
    out.append("directory", target.string()).append("id", head.link.id).append("time", bson::Date{head.time_ms});
    out.append("backups", static_cast<int64_t>(backups)).append("files", static_cast<int64_t>(head.files.size()));
    out.append("bytes", static_cast<int64_t>(bytes));
    print_json(std::cout, out.done());
  } else {
    std::cout << target.string() << " is as the server was at " << time_text(bson::Date{head.time_ms})
              << " UTC: " << size_text(static_cast<int64_t>(bytes)) << " in "
              << count_text(static_cast<int64_t>(head.files.size())) << " files, of " << backups
              << (backups == 1 ? " backup\n" : " backups\n");
  }
  return arguments.check ? check_directory(target, arguments.check_options, arguments.json) : 0;
}

}  // namespace

Verb add_restore(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("restore", "make a data directory of the backups in an archive; no server is needed");
  verb->add_option("archive", arguments->archive,
                   "the archive, a folder of backups; - reads one whole backup from the standard input")
      ->required();
  CLI::Option* target =
      verb->add_option("directory", arguments->target, "the data directory to make; it doesn't exist, or is empty");
  CLI::Option* number =
      verb->add_option("--number", arguments->number, "the state of this backup of the archive; by default of the newest")
          ->check(above_zero());
  CLI::Option* until =
      verb->add_option("--until", arguments->until, "the state at this moment: a timestamp of the log (1700000000:5), or a date");
  until->excludes(number);
  CLI::Option* listed =
      verb->add_flag("--list", arguments->list, "show the backups that the archive has")->excludes(target)->excludes(until);
  CLI::Option* checks = verb->add_flag("--check", arguments->check, "then check the directory, as `palimpsest check` does");
  checks->excludes(listed);
  arguments->check_options.add_options(*verb);
  verb->add_flag("--json", arguments->json, "print documents as lines of relaxed Extended JSON");
  verb->footer("Every byte is checked against the backups' checksums. Start the server on the directory without --replSet.");
  return {verb, [arguments] {
            if (!arguments->list && arguments->target.empty()) throw CLI::RequiredError("directory");
            if (!arguments->until.empty() && arguments->archive == "-")
              throw CLI::ValidationError("--until", "needs an archive, because a single backup is of one moment");
            return run(*arguments);
          }};
}

}  // namespace client
