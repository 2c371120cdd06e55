#include "client/offline_check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "base/error.h"
#include "base/log.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "client/progress_bar.h"
#include "client/table.h"
#include "storage/upkeep/check.h"
#include "versions/database/databases.h"
#include "versions/past/past.h"

namespace client {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::OperationError;

constexpr int exit_sound = 0, exit_damaged = 1, exit_unchecked = 2;
constexpr int exit_panic = 14;  // the storage engine can't go on

// Branches and declared snapshots, which the collections of their databases can't be read without.
struct Versions {
  explicit Versions(storage::Store& store) : past(store), databases(store, past) {}
  versions::past::Past past;
  versions::Databases databases;
};

class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& parent)
      : path_((parent.empty() ? fs::temp_directory_path() : fs::path(parent)) / "palimpsest-check-XXXXXX") {
    if (!::mkdtemp(path_.data())) throw std::runtime_error("cannot make " + path_ + ": " + std::strerror(errno));
  }
  ~ScratchFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void print_json_report(const storage::CheckReport& report) {
  for (const storage::CheckedCollection& one : report.collections) {
    bson::Builder out;
    out.append("ns", one.ns).append("valid", one.report.valid).append("documents", one.report.records);
    {
      auto damaged = out.array("damaged");
      for (const storage::DamagedDocument& document : one.damaged) {
        auto entry = damaged.object();
        if (!document.id.empty()) entry.append_element(document.id.view()["_id"]);
        entry.append("record", static_cast<int64_t>(document.record)).append("why", document.why);
      }
    }
    {
      auto errors = out.array("errors");
      for (const std::string& error : one.report.errors) errors.append(error);
    }
    {
      auto warnings = out.array("warnings");
      for (const std::string& warning : one.report.warnings) warnings.append(warning);
    }
    print_json(std::cout, out.done());
  }
  for (const auto& table : report.tables) {
    bson::Builder out;
    out.append("table", table.name).append("valid", false).append("problem", table.problem);
    print_json(std::cout, out.done());
  }
}

void print_report(const storage::CheckReport& report, const fs::path& directory) {
  Table summary(
      {{"collection"}, {"documents", Table::Align::right}, {"damaged", Table::Align::right}, {"errors", Table::Align::right}});
  for (const storage::CheckedCollection& one : report.collections) {
    summary.add({printable(one.ns), count_text(one.report.records), count_text(static_cast<int64_t>(one.damaged.size())),
                 count_text(static_cast<int64_t>(one.report.errors.size()))});
  }
  summary.print(std::cout);
  for (const storage::CheckedCollection& one : report.collections) {
    if (one.report.valid && one.report.warnings.empty()) continue;
    std::cout << "\n" << printable(one.ns) << "\n";
    for (const storage::DamagedDocument& document : one.damaged)
      std::cout << "  " << printable(storage::name_of(document)) << ": " << printable(document.why) << "\n";
    for (const std::string& error : one.report.errors) std::cout << "  error: " << printable(error) << "\n";
    for (const std::string& warning : one.report.warnings) std::cout << "  warning: " << printable(warning) << "\n";
  }
  for (const auto& table : report.tables) std::cout << "\ntable " << table.name << ": " << printable(table.problem) << "\n";
  std::cout << (report.collections.empty() ? "" : "\n") << directory.string()
            << (report.sound() ? " is sound\n" : " is damaged\n");
}

void print_failure(const fs::path& directory, const std::string& why, bool json) {
  if (!json) {
    std::cout << directory.string() << " is damaged: " << printable(why) << "\n";
    return;
  }
  bson::Builder out;
  out.append("directory", directory.string()).append("valid", false).append("problem", why);
  print_json(std::cout, out.done());
}

// This function runs in a process of its own. The engine's log goes to a file, since this process reports the damage itself.
int read_directory(const fs::path& directory, const std::string& scratch, const CheckOptions& options, bool json) {
  const std::string files = scratch + "/files";
  fs::create_directory(files);
  if (const std::string error = base::open_log({.path = scratch + "/log"}); !error.empty()) throw std::runtime_error(error);
  ProgressBar bar("reading documents:", false);
  const storage::CheckRequest request{
      .clock = base::system_clock(),
      .directory = directory,
      .scratch = files,
      .cache_bytes = static_cast<uint64_t>(options.cache_gigabytes * (1 << 30)),
      .encryption = options.encryption,
      .open_layers = [](storage::Store& store) -> std::shared_ptr<void> { return std::make_shared<Versions>(store); },
      .progress = [&](int64_t done, int64_t total) { bar.show(static_cast<uint64_t>(done), static_cast<uint64_t>(total)); }};
  try {
    const storage::CheckReport report = storage::check_directory(request);
    if (json) {
      print_json_report(report);
    } else {
      print_report(report, directory);
    }
    return report.sound() ? exit_sound : exit_damaged;
  } catch (const OperationError& error) {
    if (error.code() != ErrorCode::data_corruption_detected) throw;
    print_failure(directory, error.what(), json);
    return exit_damaged;
  }
}

}  // namespace

void CheckOptions::add_options(CLI::App& verb) {
  verb.add_flag("--enableEncryption", encryption.enabled, "the directory is encrypted");
  verb.add_option("--encryptionKeyFile", encryption.key_file, "the file of its master key");
  verb.add_option("--scratch", scratch, "a folder for temporary files: as much as the journal has, and what recovery writes")
      ->check(CLI::ExistingDirectory);
  verb.add_option("--cacheSizeGB", cache_gigabytes, "how much of the data is kept in memory")
      ->check(CLI::Range(0.05, 10000.0))
      ->capture_default_str();
}

int check_directory(const fs::path& directory, const CheckOptions& options, bool json) {
  try {
    const storage::OfflineHold hold(directory);
    const ScratchFolder scratch(options.scratch);
    std::cout.flush();
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
    if (child == 0) {
      int result = exit_unchecked;
      try {
        result = read_directory(directory, scratch.path(), options, json);
      } catch (const std::exception& failed) {
        std::cerr << "palimpsest: " << directory.string() << " can't be checked: " << failed.what() << "\n";
      }
      std::cout.flush();
      std::_Exit(result);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) != exit_panic) return WEXITSTATUS(status);
    print_failure(directory, "the storage engine can't open or read it", json);
    std::cout.flush();
    return exit_damaged;
  } catch (const std::exception& failed) {
    std::cerr << "palimpsest: " << failed.what() << "\n";
    return exit_unchecked;
  }
}

}  // namespace client
