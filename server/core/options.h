// The options say how the server was asked to run: mongod's flags and its YAML
// file, merged.
//
// One table in options.cpp holds every setting with its flag, its YAML name and
// its field here; the command line wins over the file.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/tls/settings.h"
#include "bson/document.h"
#include "server/core/security_options.h"
#include "storage/engine/encryption_options.h"
#include "storage/engine/record_id.h"

namespace server {

struct Options {
  enum class Action { serve, help, version, shutdown, repair, replay, change_master_key, decrypt };
  Action action = Action::serve;

  // net
  int port = 27017;  // 0: any free one
  std::vector<std::string> bind_ip = {"localhost"};
  bool ipv6 = false;
  int64_t max_conns = 1'000'000;  // the server lowers it to what the file descriptors allow
  bool unix_socket = true;
  std::string unix_socket_prefix = "/tmp";
  int unix_socket_permissions = 0700;
  std::vector<std::string> compressors = {"snappy", "zstd", "zlib"};
  int io_threads = 0;    // 0: one a core, at least 2, at most 64
  int metrics_port = 0;  // Prometheus reads there; 0: nowhere
  std::string metrics_bind_ip = "127.0.0.1";

  // storage
  std::string dbpath = "/data/db";
  double cache_gb = 0;  // 0: half of the memory beyond 1 GB, at least 0.25
  std::string block_compressor = "zstd";
  std::string journal_compressor = "snappy";
  int journal_commit_ms = 100;
  int checkpoint_s = 60;
  int64_t oplog_mb = 0;  // 0: 5 % of the free disk, 990 MB to 50 GB
  bool dedup = true;
  std::string dedup_profile = "balanced";

  // a restore to a moment
  std::string replay_log_of;            // the data directory whose log is replayed over this one
  storage::Stamp replay_from = 0;       // this directory has everything below it; 0: up to its log's newest entry
  storage::Stamp replay_log_below = 0;  // that log has everything below it; 0: up to its newest entry
  storage::Stamp replay_until = 0;

  // replication
  std::string repl_set;  // empty: a standalone server

  // net.tls
  enum class TlsMode { disabled, allow, prefer, require };
  TlsMode tls_mode = TlsMode::disabled;
  base::tls::Settings tls;

  // security, auditLog
  storage::EncryptionOptions encryption;
  std::string decrypt_file;  // is written to standard output, decrypted
  bool redact_log = false;
  AuditOptions audit;
  bool authorization = false;  // clients log in, and may do what their users may
  bool unprotected = false;    // somebody said that there is to be no access control
  std::string key_file;        // the secret that the members of a set share; empty: none
  enum class ClusterAuth { key_file, send_key_file, send_x509, x509 };
  ClusterAuth cluster_auth = ClusterAuth::key_file;

  // systemLog
  std::string log_path;
  bool log_append = false;
  bool log_reopen = false;  // --logRotate reopen
  int verbosity = 0;
  std::vector<std::pair<std::string, int>> component_verbosity;  // "network", 2
  bool quiet = false;

  // processManagement
  bool fork = false;
  std::string pid_file;

  // operationProfiling
  int64_t slow_op_ms = 100;
  double slow_op_sample_rate = 1.0;
  int profile_level = 0;  // of databases for which nobody has set another

  bool scripting = true;  // clients' JavaScript functions run

  std::vector<std::pair<std::string, std::string>> set_parameters;

  // The arguments as getCmdLineOpts returns them.
  std::vector<std::string> argv;
  bson::Document parsed;

  uint64_t cache_bytes() const;
  // Returns what all operations together may keep in memory beside the cache: half of what the cache leaves, at least 512 MB.
  uint64_t operation_memory_bytes() const;
};

// what() is the message to print.
class OptionsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws OptionsError.
Options parse_options(const std::vector<std::string>& argv);

std::string help_text();
std::string version_text();

inline constexpr std::string_view compatible_version = "7.0.14";  // the MongoDB version whose behaviour the server has
std::string_view palimpsest_version();

}  // namespace server
