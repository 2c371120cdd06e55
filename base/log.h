// The log is one JSON object a line, in the shape that MongoDB's tools read.
//
//   {"t":{"$date":"2026-03-01T09:00:00.000+00:00"},"s":"I",  "c":"NETWORK",  "id":22943,   "ctx":"listener",
//    "msg":"Connection accepted","attr":{"remote":"127.0.0.1:51234","connectionId":4}}
//
// It is the one process-wide object in the tree: every layer writes lines, and none should depend on being
// handed a logger. `main` chooses where lines go; until then they go to standard output. Thread-safe
// throughout.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace base {

enum class Severity { fatal, error, warning, info, debug1, debug2, debug3, debug4, debug5 };

enum class LogComponent { default_, access, command, control, index, network, query, recovery, repl, storage, write };
inline constexpr int log_components = 11;
std::string_view log_component_name(LogComponent component);  // "NETWORK"; "-" for default_

// Builds the `attr` object in order. Values that are documents come as JSON.
class Attributes {
 public:
  Attributes& add(std::string_view name, std::string_view value);
  Attributes& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
  Attributes& add(std::string_view name, const std::string& value) { return add(name, std::string_view(value)); }
  Attributes& add(std::string_view name, bool value) { return json(name, value ? "true" : "false"); }
  Attributes& add(std::string_view name, int32_t value) { return json(name, std::to_string(value)); }
  Attributes& add(std::string_view name, uint32_t value) { return json(name, std::to_string(value)); }
  Attributes& add(std::string_view name, int64_t value) { return json(name, std::to_string(value)); }
  Attributes& add(std::string_view name, uint64_t value) { return json(name, std::to_string(value)); }
  Attributes& add(std::string_view name, double value);
  Attributes& json(std::string_view name, std::string_view rendered);  // as it stands

  bool empty() const { return fields_.empty(); }
  const std::string& fields() const { return fields_; }  // without the braces

 private:
  std::string fields_;
};

// Tells whether a line would be written. Where it would be dropped, its attributes need not be built.
bool log_enabled(Severity severity, LogComponent component);

void log(Severity severity, LogComponent component, int32_t id, std::string_view message, const Attributes& attributes = {});

// Writes a warning that getLog: "startupWarnings" shows to every client that connects.
void log_startup_warning(int32_t id, std::string_view message, const Attributes& attributes = {});

// Names this thread's work in its lines ("conn12", "checkpoint") for as long as the object lives.
class LogContext {
 public:
  explicit LogContext(std::string name);
  ~LogContext();
  LogContext(const LogContext&) = delete;
  LogContext& operator=(const LogContext&) = delete;

 private:
  std::string before_;
};

// Level 0 writes information and worse; 1 to 5 write debug lines too. A component at -1 has the default level.
void set_log_verbosity(LogComponent component, int level);
int log_verbosity(LogComponent component);  // the level that was set, -1 when it is inherited
void set_log_quiet(bool quiet);             // less about connections and commands
bool log_quiet();

struct LogFile {
  std::string path;               // empty: standard output
  bool append = false;            // else an earlier file is renamed away at start
  bool reopen_on_rotate = false;  // rotate = reopen: another program moves the file
};

// Returns an empty string on success, else the error. Call it once, before other threads run.
std::string open_log(const LogFile& file);
// Returns false where there is no file to rotate or the renaming failed.
bool rotate_log();

// Returns the last 1024 lines, oldest first, and the number of all lines so far.
struct RecentLines {
  std::vector<std::string> lines;
  int64_t total = 0;
};
RecentLines recent_log_lines();
RecentLines startup_warnings();

// Returns the text quoted and escaped, such as `"a\"b"`; invalid UTF-8 is replaced.
std::string json_quote(std::string_view text);

// Writes milliseconds since 1970 as "2026-03-01T09:00:00.000+00:00".
std::string iso_date(int64_t wall_ms);

}  // namespace base
