#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <deque>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/utf8.h"

namespace base {
namespace {

constexpr size_t recent_lines_max = 1024;

thread_local std::string context = "-";

struct State {
  base::Mutex mutex;
  std::shared_ptr<spdlog::sinks::sink> sink GUARDED_BY(mutex) = plain(std::make_shared<spdlog::sinks::stdout_sink_mt>());
  LogFile file GUARDED_BY(mutex);
  std::deque<std::string> recent GUARDED_BY(mutex);
  int64_t total GUARDED_BY(mutex) = 0;
  std::deque<std::string> warnings GUARDED_BY(mutex);
  int64_t warnings_total GUARDED_BY(mutex) = 0;
  std::array<std::atomic<int>, log_components> verbosity;
  std::atomic<bool> quiet{false};

  State() {
    for (auto& level : verbosity) level = -1;
    verbosity[0] = 0;
  }
  static std::shared_ptr<spdlog::sinks::sink> plain(std::shared_ptr<spdlog::sinks::sink> sink) {
    sink->set_pattern("%v");
    return sink;
  }
};

// The log is never destroyed, because threads may still write a last line while the process exits.
State& state() {
  static State& instance = *new State;
  return instance;
}

std::string_view severity_name(Severity severity) {
  static constexpr std::string_view names[] = {"F", "E", "W", "I", "D1", "D2", "D3", "D4", "D5"};
  return names[static_cast<size_t>(severity)];
}

void pad(std::string& line, size_t from, size_t width) {
  while (line.size() - from < width) line += ' ';
}

std::string render(Severity severity, LogComponent component, int32_t id, std::string_view message, const Attributes& attributes,
                   bool startup_warning) {
  std::string line = R"({"t":{"$date":")" + iso_date(system_clock().wall_ms()) + R"("},"s":)";
  size_t from = line.size();
  line.append("\"").append(severity_name(severity)).append("\",");
  pad(line, from, 6);
  line += R"("c":)";
  from = line.size();
  line.append("\"").append(log_component_name(component)).append("\",");
  pad(line, from, 12);
  line += R"("id":)";
  from = line.size();
  line.append(std::to_string(id)).append(",");
  pad(line, from, 9);
  line.append(R"("ctx":)").append(json_quote(context)).append(R"(,"msg":)").append(json_quote(message));
  if (!attributes.empty()) line.append(R"(,"attr":{)").append(attributes.fields()).append("}");
  if (startup_warning) line += R"(,"tags":["startupWarnings"])";
  line += "}";
  return line;
}

void keep(std::deque<std::string>& lines, const std::string& line) {
  if (lines.size() == recent_lines_max) lines.pop_front();
  lines.push_back(line);
}

void write(Severity severity, LogComponent component, int32_t id, std::string_view message, const Attributes& attributes,
           bool startup_warning) {
  const std::string line = render(severity, component, id, message, attributes, startup_warning);
  State& s = state();
  base::MutexLock lock(s.mutex);
  keep(s.recent, line);
  ++s.total;
  if (startup_warning) {
    keep(s.warnings, line);
    ++s.warnings_total;
  }
  try {
    s.sink->log(spdlog::details::log_msg({}, spdlog::level::info, line));
    s.sink->flush();
  } catch (const std::exception&) {
    // A full disk must not stop the server; the line is still in the ring.
  }
}

// Returns a free name for the file that makes room, such as "mongod.log.2026-03-01T09-00-00".
std::string aside_name(const std::string& path) {
  std::string stem = path + "." + iso_date(system_clock().wall_ms()).substr(0, 19);
  std::replace(stem.end() - 8, stem.end(), ':', '-');
  std::string name = stem;
  for (int n = 1; std::filesystem::exists(name); ++n) name = stem + "-" + std::to_string(n);
  return name;
}

}  // namespace

std::string_view log_component_name(LogComponent component) {
  static constexpr std::string_view names[log_components] = {"-",     "ACCESS",   "COMMAND", "CONTROL", "INDEX", "NETWORK",
                                                             "QUERY", "RECOVERY", "REPL",    "STORAGE", "WRITE"};
  return names[static_cast<size_t>(component)];
}

Attributes& Attributes::add(std::string_view name, std::string_view value) {
  return json(name, json_quote(value));
}

Attributes& Attributes::add(std::string_view name, double value) {
  if (!std::isfinite(value)) return json(name, "null");
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return json(name, text);
}

Attributes& Attributes::json(std::string_view name, std::string_view rendered) {
  if (!fields_.empty()) fields_ += ',';
  fields_.append(json_quote(name)).append(":").append(rendered);
  return *this;
}

bool log_enabled(Severity severity, LogComponent component) {
  if (severity <= Severity::info) return true;
  int level = state().verbosity[static_cast<size_t>(component)].load(std::memory_order_relaxed);
  if (level < 0) level = state().verbosity[0].load(std::memory_order_relaxed);
  return static_cast<int>(severity) - static_cast<int>(Severity::info) <= level;
}

void log(Severity severity, LogComponent component, int32_t id, std::string_view message, const Attributes& attributes) {
  if (log_enabled(severity, component)) write(severity, component, id, message, attributes, false);
}

void log_startup_warning(int32_t id, std::string_view message, const Attributes& attributes) {
  write(Severity::warning, LogComponent::control, id, message, attributes, true);
}

LogContext::LogContext(std::string name) : before_(std::exchange(context, std::move(name))) {}
LogContext::~LogContext() {
  context = std::move(before_);
}

void set_log_verbosity(LogComponent component, int level) {
  if (component == LogComponent::default_ && level < 0) level = 0;
  state().verbosity[static_cast<size_t>(component)] = level;
}
int log_verbosity(LogComponent component) {
  return state().verbosity[static_cast<size_t>(component)];
}
void set_log_quiet(bool quiet) {
  state().quiet = quiet;
}
bool log_quiet() {
  return state().quiet;
}

std::string open_log(const LogFile& file) {
  State& s = state();
  base::MutexLock lock(s.mutex);
  s.file = file;
  if (file.path.empty()) return {};
  try {
    std::error_code ignored;
    if (!file.append && std::filesystem::is_regular_file(file.path, ignored)) {
      std::filesystem::rename(file.path, aside_name(file.path));
    }
    s.sink = State::plain(std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.path, false));
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

bool rotate_log() {
  State& s = state();
  base::MutexLock lock(s.mutex);
  if (s.file.path.empty()) return false;
  try {
    if (!s.file.reopen_on_rotate) std::filesystem::rename(s.file.path, aside_name(s.file.path));
    s.sink = State::plain(std::make_shared<spdlog::sinks::basic_file_sink_mt>(s.file.path, false));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

RecentLines recent_log_lines() {
  State& s = state();
  base::MutexLock lock(s.mutex);
  return {{s.recent.begin(), s.recent.end()}, s.total};
}

RecentLines startup_warnings() {
  State& s = state();
  base::MutexLock lock(s.mutex);
  return {{s.warnings.begin(), s.warnings.end()}, s.warnings_total};
}

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text[0];
    const size_t bytes = utf8_bytes(text);
    if (bytes == 0) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out.append("\\").append(1, c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(static_cast<uint8_t>(c)));
      out += escape;
    } else {
      out.append(text.substr(0, bytes));
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  out += '"';
  return out;
}

std::string iso_date(int64_t wall_ms) {
  int64_t seconds = wall_ms / 1000;
  int64_t ms = wall_ms % 1000;
  if (ms < 0) ms += 1000, --seconds;
  const auto when = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&when, &parts);
  char text[80];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03d+00:00", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(ms));
  return text;
}

}  // namespace base
