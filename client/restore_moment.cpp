#include "client/restore_moment.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "bson/json.h"
#include "client/progress_bar.h"
#include "client/table.h"
#include "storage/engine/directory.h"
#include "storage/engine/durable_files.h"
#include "storage/upkeep/moment.h"

namespace client {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::OperationError;
using storage::ArchivedBackup;
using storage::moment_text;
using storage::Stamp;

// The server's log has lines with these numbers (server/assembly/replay.cpp).
constexpr int64_t log_of_moments = 7100066, log_of_progress = 7100067, log_of_end = 7100068;
constexpr size_t line_bytes_max = 1 << 20;

std::string with_date(Stamp moment) {
  return moment_text(moment) + " (" + time_text(bson::Date{static_cast<int64_t>(moment >> 32) * 1000}) + " UTC)";
}

fs::path server_program() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "palimpsestd";
  if (::access(program.c_str(), X_OK) != 0)
    throw std::runtime_error(program.string() + " isn't there, and a log can't be replayed without it");
  return program;
}

[[noreturn]] void cannot(const std::string& doing) {
  throw std::runtime_error("cannot " + doing + ": " + std::strerror(errno));
}

// A program whose output is read line by line. It doesn't outlive this process.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) cannot("make a pipe");
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int nothing = ::open("/dev/null", O_RDWR);
      if (::getppid() != parent || nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(nothing, STDERR_FILENO) < 0 ||
          ::dup2(ends[1], STDOUT_FILENO) < 0)
        ::_exit(127);
      ::execv(words[0], words.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ends[0];
    if (process_ < 0) cannot("start a process");
  }
  ~Program() {
    ::close(output_);
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    wait();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void each_line(const std::function<void(std::string_view)>& visit) const {
    std::string pending, buffer(1 << 16, '\0');
    for (;;) {
      const ssize_t got = ::read(output_, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) cannot("read what palimpsestd says");
      if (got == 0) return;
      pending.append(buffer, 0, static_cast<size_t>(got));
      size_t begin = 0;
      for (size_t end = 0; (end = pending.find('\n', begin)) != pending.npos; begin = end + 1)
        visit(std::string_view(pending).substr(begin, end - begin));
      pending.erase(0, begin);
      if (pending.size() > line_bytes_max) pending.clear();
    }
  }

  // Returns whether it ended well.
  bool wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t process_ = -1;
  int output_ = -1;
};

struct Replay {
  bool done = false;
  std::string newest_before, newest, error;
  int64_t transactions = 0;
};

std::string text_in(bson::DocumentView document, std::string_view name) {
  const bson::Element field = document[name];
  return field.is_string() ? std::string(field.as_string()) : std::string();
}

Replay replay(std::vector<std::string> arguments) {
  Replay out;
  ProgressBar bar("replaying the log, seconds of it:", false);
  Program program(std::move(arguments));
  program.each_line([&](std::string_view text) {
    const auto line = bson::from_json(text);
    if (!line.ok() || !line.value()["attr"].is_object() || !line.value()["id"].is_number()) return;
    const bson::DocumentView attributes = line.value().view()["attr"].as_document();
    const int64_t id = line.value()["id"].to_int64();
    if (id == log_of_moments) out.newest_before = text_in(attributes, "newest");
    if (id == log_of_progress && attributes["done"].is_number() && attributes["total"].is_number())
      bar.show(static_cast<uint64_t>(attributes["done"].to_int64()), static_cast<uint64_t>(attributes["total"].to_int64()));
    if (id == log_of_end) {
      out.newest = text_in(attributes, "newest");
      out.transactions = attributes["transactions"].is_number() ? attributes["transactions"].to_int64() : 0;
    }
    if (const std::string error = text_in(attributes, "error"); !error.empty()) out.error = error;
  });
  out.done = program.wait() && !out.newest.empty();
  if (!out.done && out.error.empty()) out.error = "palimpsestd ended, and didn't say why";
  return out;
}

using Backups = std::vector<ArchivedBackup>;

// The first backup whose log has everything up to the moment.
Backups::const_iterator find_log(const Backups& all, Stamp until) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.head.log_below > until; });
  if (found != all.end()) return found;
  Stamp end = 0;
  for (const ArchivedBackup& one : all) end = std::max(end, one.head.log_below);
  throw OperationError(ErrorCode::snapshot_too_old, end == 0
                                                        ? "the archive's backups don't say how far their log goes"
                                                        : "the archive's backups go up to " + with_date(end - 1) + ", and " +
                                                              with_date(until) + " is later; add a backup to the archive first");
}

void restore(const fs::path& archive, uint64_t number, const fs::path& target, const char* what) {
  ProgressBar bar(what, true);
  storage::restore_archive(archive, number, target, [&](uint64_t done, uint64_t total) { bar.show(done, total); });
}

}  // namespace

RestoredMoment restore_until(const fs::path& archive, Stamp until, const fs::path& target,
                             const storage::EncryptionOptions& encryption) {
  const fs::path program = server_program();
  const Backups all = storage::archived_backups(archive);
  if (all.empty()) throw OperationError(ErrorCode::no_such_key, archive.string() + " has no backups");
  const auto log = find_log(all, until);
  storage::require_new_folder(target);
  const storage::PartialFolder work(target.string() + ".until");
  const fs::path base_folder = work.path() / "base", log_folder = work.path() / "log";
  restore(archive, log->number, log_folder, "restoring the log");
  for (auto base = std::next(log); base != all.begin();) {
    --base;
    if (base->head.log_below == 0 || base->head.log_below - 1 > until) continue;
    std::error_code ignored;
    fs::remove_all(base_folder, ignored);
    restore(archive, base->number, base_folder, "restoring");
    storage::take_wrapped_key(base_folder, log_folder);  // the master key may have changed between the two backups
    std::vector<std::string> arguments = {program,
                                          "--dbpath",
                                          base_folder,
                                          "--replayLogOf",
                                          log_folder,
                                          "--replayFrom",
                                          moment_text(base->head.log_below),
                                          "--replayLogBelow",
                                          moment_text(log->head.log_below),
                                          "--replayUntil",
                                          moment_text(until)};
    if (encryption.enabled) arguments.insert(arguments.end(), {"--enableEncryption", "--encryptionKeyFile", encryption.key_file});
    const Replay replayed = replay(std::move(arguments));
    if (replayed.done) {
      storage::move_durably(base_folder, target);
      return {.base = *base, .log = log->number, .newest = replayed.newest, .transactions = replayed.transactions};
    }
    // Writes that were under way when the backup began may be in it, and be later than the moment. An earlier backup hasn't them.
    if (replayed.newest_before.empty() || replayed.newest_before == moment_text(0) ||
        storage::parse_moment(replayed.newest_before) <= until)
      throw std::runtime_error("the log of " + log->path.string() + " can't be replayed over " + base->path.string() + ": " +
                               printable(replayed.error));
  }
  throw OperationError(ErrorCode::snapshot_too_old, "the archive has no backup that is as old as " + with_date(until));
}

}  // namespace client
