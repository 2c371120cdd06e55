// palimpsestd reads the options, prepares the process around the server, and ends it.
//
//   exit codes as mongod's: 0 clean, 1 files of TLS that can't be used, 2 bad options, 14 damage, or data that
//   can't be kept safe, 48 address in use, 62 a data directory of another version, 100 any other error that
//   keeps it from starting
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "base/tls/contexts.h"
#include "server/assembly/assembly.h"
#include "server/assembly/process.h"
#include "server/assembly/repair.h"
#include "server/assembly/replay.h"
#include "server/assembly/restart.h"
#include "server/core/audit.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/exporter/exporter.h"
#include "server/wire/listener.h"
#include "storage/engine/directory.h"
#include "storage/upkeep/replace_directory.h"

namespace {

using base::Attributes;
using base::LogComponent;
using base::Severity;

enum ExitCode { clean = 0, bad_tls = 1, bad_options = 2, damaged = 14, net_error = 48, need_upgrade = 62, cannot_start = 100 };

int fail(int exit_code, int32_t log_id, const std::string& message, const std::string& error) {
  base::log(Severity::error, LogComponent::control, log_id, message, Attributes().add("error", error));
  if (!::isatty(STDERR_FILENO)) std::cerr << message << ": " << error << "\n";
  return exit_code;
}

void say_hello(const server::Options& options) {
  base::log(Severity::info, LogComponent::control, 4615611, "Palimpsest starting",
            Attributes()
                .add("pid", static_cast<int64_t>(::getpid()))
                .add("port", options.port)
                .add("dbPath", options.dbpath)
                .add("architecture", "64-bit")
                .add("version", server::palimpsest_version()));
  if (!options.authorization)
    base::log_startup_warning(
        22120, "Access control is not enabled for the database. Read and write access to data and configuration is unrestricted");
  if (options.tls_mode != server::Options::TlsMode::disabled && options.tls.ca_file.empty()) {
    base::log_startup_warning(22132,
                              "No certificates can be validated because no CA file was given (--tlsCAFile): clients and members "
                              "show none, or any");
  }
  for (const auto& address : options.bind_ip) {
    if (address == "localhost" || address.starts_with("127.") || address == "::1" || address.starts_with("/")) continue;
    if (options.authorization) continue;
    base::log_startup_warning(22178,
                              "This server is bound to a remote interface and access control is off: anyone who can connect can "
                              "read and write everything",
                              Attributes().add("address", address));
  }
}

void rotate_logs(server::Audit* audit) {
  base::rotate_log();
  try {
    if (audit) audit->rotate();
  } catch (const base::OperationError& error) {
    base::log(Severity::error, LogComponent::access, 7100061, "The audit log can't be rotated",
              Attributes().add("error", error.what()));
  }
}

// Repairs what the data directory holds, and closes it. No client can connect meanwhile.
int repair(const server::Options& options) {
  server::Assembly assembly(options);
  return server::repair_collections(assembly) ? clean : cannot_start;
}

// Replays a log on the data directory, which then is as of a later moment. No client can connect meanwhile.
int replay(const server::Options& options) {
  const server::DataDirectoryLock lock(options.replay_log_of);
  server::replay_log(options);
  return clean;
}

// Wraps the data key with another master key. Nobody else has the data directory meanwhile.
int change_master_key(const server::Options& options) {
  storage::place_copy(options.dbpath);  // a copy that waits has a key of its own, which would replace the new one
  storage::change_master_key(options.dbpath, options.encryption);
  base::log(Severity::info, LogComponent::storage, 7100070, "The data key is wrapped with the new master key",
            Attributes().add("keyFile", options.encryption.new_key_file));
  return clean;
}

int decrypt(const server::Options& options) {
  try {
    std::cout << storage::read_sealed_file(options.dbpath, options.encryption, options.decrypt_file) << std::flush;
    return std::cout ? clean : cannot_start;
  } catch (const base::OperationError& error) {
    std::cerr << error.what() << "\n";
    return error.code() == base::ErrorCode::bad_value ? bad_options : cannot_start;
  }
}

// Operations look at their end every few milliseconds; only one call of a library may take longer.
constexpr std::chrono::seconds patience_at_end(4);

// Runs the server from the opening of its data directory until it is closed.
int run(const server::Options& options, server::ProcessSignals& signals) {
  if (options.action == server::Options::Action::repair) return repair(options);
  if (options.action == server::Options::Action::replay) return replay(options);
  if (options.action == server::Options::Action::change_master_key) return change_master_key(options);
  server::Assembly assembly(options, {.end = [&signals](int exit_code) { signals.request_end(exit_code); },
                                      .restart = [&signals](const std::string& why) { signals.request_restart(why); }});
  std::optional<server::exporter::Exporter> exporter;
  if (options.metrics_port != 0) {
    try {
      exporter.emplace(assembly.services(),
                       [&assembly](const std::string& db, bson::DocumentView command) { return assembly.run(db, command); });
    } catch (const std::runtime_error& error) {
      return fail(net_error, 7100082, "Error setting up the metrics port", error.what());
    }
  }
  server::wire::Listener listener(assembly.services(), assembly.dispatcher());
  try {
    listener.start();
  } catch (const std::system_error& error) {
    return fail(net_error, 20568, "Error setting up listener", error.what());
  }
  server::notify_parent_started();
  server::Audit* const audit = assembly.services().audit;
  if (audit) audit->record("startup", nullptr, options.parsed);
  const int exit_code = signals.wait_for_end([audit] { rotate_logs(audit); });
  if (audit && !signals.end_requested()) audit->record("shutdown", nullptr, {});
  exporter.reset();
  assembly.hand_over();
  base::log(Severity::info, LogComponent::network, 20562, "Shutdown: going to close listening sockets");
  std::optional<server::LastResort> last_resort;
  if (!signals.restart_wanted()) last_resort.emplace(patience_at_end, exit_code, options.pid_file);
  listener.stop();
  return exit_code;
}

struct Ending {
  int exit_code = clean;
  bool restarts = false;
};

Ending serve(const server::Options& options) {
  base::LogContext context("initandlisten");
  say_hello(options);
  server::ProcessSignals signals;
  try {
    server::DataDirectoryLock lock(options.dbpath);
    server::PidFile pid_file(options.pid_file);
    const int exit_code = run(options, signals);
    base::log(Severity::info, LogComponent::control, 20565, "Now exiting");
    if (!signals.restart_wanted())
      base::log(Severity::info, LogComponent::control, 23138, "Shutting down", Attributes().add("exitCode", exit_code));
    return {exit_code, signals.restart_wanted()};
  } catch (const base::OperationError& error) {
    if (error.code() == base::ErrorCode::bad_value)
      return {fail(bad_options, 20574, "Error during global initialization", error.what())};
    if (error.code() == base::ErrorCode{base::tls::invalid_configuration})
      return {
          fail(bad_tls, 20574, "Error during global initialization", "InvalidSSLConfiguration: " + std::string(error.what()))};
    const ExitCode code = error.code() == base::ErrorCode::unsupported_format         ? need_upgrade
                          : error.code() == base::ErrorCode::data_corruption_detected ? damaged
                                                                                      : cannot_start;
    return {fail(code, 20557, "DBException in initAndListen, terminating", error.what())};
  } catch (const std::exception& error) {
    return {fail(cannot_start, 20557, "DBException in initAndListen, terminating", error.what())};
  }
}

}  // namespace

int main(int argc, char** argv) {
  server::Options options;
  try {
    options = server::parse_options({argv, argv + argc});
  } catch (const server::OptionsError& error) {
    std::cerr << error.what() << "\n";
    return bad_options;
  }
  switch (options.action) {
    case server::Options::Action::help: std::cout << server::help_text(); return clean;
    case server::Options::Action::version: std::cout << server::version_text(); return clean;
    case server::Options::Action::shutdown: return server::shut_down_other(options.dbpath);
    case server::Options::Action::decrypt: return decrypt(options);
    case server::Options::Action::serve:
    case server::Options::Action::change_master_key:
    case server::Options::Action::replay:
    case server::Options::Action::repair: break;
  }
  // A restarted process is in the background already, and its log continues.
  const bool restarted = server::is_restarted();
  if (options.fork && !restarted) server::fork_into_background();
  if (restarted) options.log_append = true;
  server::prepare_process();
  if (const std::string problem = server::open_logging(options); !problem.empty()) {
    std::cerr << "Failed to open log file: " << problem << "\n";
    return cannot_start;
  }
  const Ending ending = serve(options);
  if (!ending.restarts) return ending.exit_code;
  const std::string problem = server::restart_in_place(argv);
  return problem.empty() ? clean : fail(cannot_start, 7100031, "Can't start anew in place, terminating", problem);
}
