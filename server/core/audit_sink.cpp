// The audit log goes to a file, to the system's log, or to standard output.
#include <fcntl.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/clock.h"
#include "base/log.h"
#include "bson/json.h"
#include "server/core/audit.h"

namespace server {
namespace {

using base::OperationError;

constexpr auto file_rename_failed = base::ErrorCode{37}, file_not_open = base::ErrorCode{38};

class FileSink final : public AuditSink {
 public:
  FileSink(std::string path, AuditOptions::Format format, const base::Clock& clock)
      : path_(std::move(path)), format_(format), clock_(clock) {
    open();
  }
  ~FileSink() override { ::close(file_); }

  void write(bson::DocumentView event) override {
    if (format_ == AuditOptions::Format::bson) return write_all(event.bytes());
    write_all(bson::to_json(event) + "\n");
  }

  void rotate() override {
    std::string stem = path_ + "." + base::iso_date(clock_.wall_ms()).substr(0, 19);
    std::replace(stem.end() - 8, stem.end(), ':', '-');
    std::string aside = stem;
    for (int n = 1; std::filesystem::exists(aside); ++n) aside = stem + "-" + std::to_string(n);
    std::error_code error;
    std::filesystem::rename(path_, aside, error);
    if (error) throw OperationError(file_rename_failed, "can't rename the audit log " + path_ + ": " + error.message());
    const int before = file_;
    open();
    ::close(before);
  }

 private:
  void open() {
    const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) throw OperationError(file_not_open, "can't open the audit log " + path_ + ": " + std::strerror(errno));
    file_ = file;
  }

  void write_all(base::BytesView bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) throw OperationError(base::ErrorCode::operation_failed, std::strerror(errno));
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }

  const std::string path_;
  const AuditOptions::Format format_;
  const base::Clock& clock_;
  int file_ = -1;
};

class SystemLogSink final : public AuditSink {
 public:
  void write(bson::DocumentView event) override { ::syslog(LOG_USER | LOG_INFO, "%s", bson::to_json(event).c_str()); }
};

class ConsoleSink final : public AuditSink {
 public:
  void write(bson::DocumentView event) override {
    const std::string line = bson::to_json(event) + "\n";
    if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size() || std::fflush(stdout) != 0)
      throw OperationError(base::ErrorCode::operation_failed, "standard output can't be written to");
  }
};

}  // namespace

std::unique_ptr<AuditSink> make_audit_sink(const AuditOptions& options, const base::Clock& clock) {
  switch (options.destination) {
    case AuditOptions::Destination::file: return std::make_unique<FileSink>(options.path, options.format, clock);
    case AuditOptions::Destination::syslog: return std::make_unique<SystemLogSink>();
    case AuditOptions::Destination::console: return std::make_unique<ConsoleSink>();
    case AuditOptions::Destination::none: break;
  }
  return nullptr;
}

}  // namespace server
