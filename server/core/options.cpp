#include "server/core/options.h"

#include <sys/sysinfo.h>
#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "base/error.h"
#include "bson/builder.h"
#include "server/core/commit_facts.h"
#include "server/core/setting.h"
#include "storage/upkeep/moment.h"

namespace server {
namespace {

using settings::bad;
using settings::flag;
using settings::Kind;
using settings::number;
using settings::one_of;
using settings::refused;
using settings::Setting;
using settings::split;

int octal(const std::string& text, const std::string& name) {
  int value = 0;
  auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (error != std::errc() || at != text.data() + text.size() || value <= 0 || value > 0777) {
    bad("failed to parse " + name + ": expected octal permissions, found '" + text + "'");
  }
  return value;
}

std::vector<std::string> compressor_list(const std::string& text) {
  if (text == "disabled") return {};
  auto names = split(text, ',');
  for (const auto& name : names) {
    if (name != "snappy" && name != "zstd" && name != "zlib")
      bad("Invalid network message compressor specified in configuration: " + name);
  }
  return names;
}

// The file names the levels, the command line numbers them.
int profile_level(const std::string& text) {
  if (text == "off" || text == "0") return 0;
  if (text == "slowOp" || text == "1") return 1;
  if (text == "all" || text == "2") return 2;
  bad("Bad value for operationProfiling.mode: " + text + ". Supported modes are: (off|slowOp|all)");
}

storage::Stamp moment(const std::string& text, const std::string& name) {
  try {
    return storage::parse_moment(text);
  } catch (const base::OperationError& error) {
    bad("--" + name + ": " + error.what());
  }
}

void set_parameter(Options& options, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) bad("Illegal option assignment: \"" + text + "\"");
  options.set_parameters.emplace_back(text.substr(0, equals), text.substr(equals + 1));
}

std::vector<Setting> net_settings() {
  using S = std::string;
  return {
      {"net.port", "port", Kind::integer, "port to listen on - 27017 by default, 0 for any free one",
       [](Options& o, const S& v) { o.port = number<int>(v, "net.port", 0, 65535); }},
      {"net.bindIp", "bind_ip", Kind::text, "comma separated list of ip addresses to listen on - localhost by default",
       [](Options& o, const S& v) {
         o.bind_ip = split(v, ',');
         if (o.bind_ip.empty()) bad("net.bindIp names no address");
       }},
      flag("net.bindIpAll", "bind_ip_all", "bind to all ip addresses",
           [](Options& o, bool on) {
             if (on) o.bind_ip = {"*"};
           }),
      flag("net.ipv6", "ipv6", "enable IPv6 support (disabled by default)", [](Options& o, bool on) { o.ipv6 = on; }),
      {"net.maxIncomingConnections", "maxConns", Kind::integer, "max number of simultaneous connections",
       [](Options& o, const S& v) { o.max_conns = number<int64_t>(v, "net.maxIncomingConnections", 5, 1'000'000); }},
      {"net.compression.compressors", "networkMessageCompressors", Kind::text,
       "comma-separated list of compressors for network messages, or 'disabled'",
       [](Options& o, const S& v) { o.compressors = compressor_list(v); }},
      flag("", "nounixsocket", "disable listening on unix sockets", [](Options& o, bool on) { o.unix_socket = !on; }),
      flag("net.unixDomainSocket.enabled", "", "", [](Options& o, bool on) { o.unix_socket = on; }),
      {"net.unixDomainSocket.pathPrefix", "unixSocketPrefix", Kind::text,
       "directory for the UNIX domain socket (defaults to /tmp)", [](Options& o, const S& v) { o.unix_socket_prefix = v; }},
      {"net.unixDomainSocket.filePermissions", "filePermissions", Kind::text,
       "permissions of the UNIX domain socket (defaults to 0700)",
       [](Options& o, const S& v) { o.unix_socket_permissions = octal(v, "filePermissions"); }},
      {"net.ioThreads", "ioThreads", Kind::integer, "threads that serve connections (default: one a core, 2 to 64)",
       [](Options& o, const S& v) { o.io_threads = number<int>(v, "net.ioThreads", 1, 64); }},
      {"net.metrics.port", "metricsPort", Kind::integer, "port that serves metrics to Prometheus, at /metrics (default: none)",
       [](Options& o, const S& v) { o.metrics_port = number<int>(v, "net.metrics.port", 1, 65535); }},
      {"net.metrics.bindIp", "metricsBindIp", Kind::text, "ip address that serves metrics - 127.0.0.1 by default",
       [](Options& o, const S& v) { o.metrics_bind_ip = v; }},
  };
}

std::vector<Setting> storage_settings() {
  using S = std::string;
  return {
      {"storage.dbPath", "dbpath", Kind::text, "directory for datafiles - defaults to /data/db",
       [](Options& o, const S& v) { o.dbpath = v; }},
      {"storage.engine", "storageEngine", Kind::text, "what storage store to use: wiredTiger",
       [](Options&, const S& v) {
         if (v != "wiredTiger") bad("Cannot start server with an unknown storage store: " + v);
       }},
      {"storage.wiredTiger.engineConfig.cacheSizeGB", "wiredTigerCacheSizeGB", Kind::real,
       "maximum amount of memory to allocate for cache; defaults to 1/2 of physical RAM less 1 GB",
       [](Options& o, const S& v) {
         o.cache_gb = number<double>(v, "storage.wiredTiger.engineConfig.cacheSizeGB", 0.0625, 10000);
       }},
      {"storage.wiredTiger.engineConfig.journalCompressor", "wiredTigerJournalCompressor", Kind::text,
       "compressor for the journal [none|snappy|lz4|zstd]",
       [](Options& o, const S& v) {
         o.journal_compressor = one_of(v, "wiredTigerJournalCompressor", {"none", "snappy", "lz4", "zstd"});
       }},
      {"storage.wiredTiger.collectionConfig.blockCompressor", "wiredTigerCollectionBlockCompressor", Kind::text,
       "block compression of collection data [none|snappy|lz4|zstd]",
       [](Options& o, const S& v) {
         o.block_compressor = one_of(v, "wiredTigerCollectionBlockCompressor", {"none", "snappy", "lz4", "zstd"});
       }},
      {"storage.journal.commitIntervalMs", "journalCommitInterval", Kind::integer, "how often to group/batch commit (ms)",
       [](Options& o, const S& v) { o.journal_commit_ms = number<int>(v, "storage.journal.commitIntervalMs", 1, 500); }},
      {"storage.syncPeriodSecs", "syncdelay", Kind::integer, "seconds between disk syncs",
       [](Options& o, const S& v) { o.checkpoint_s = number<int>(v, "storage.syncPeriodSecs", 1, 9000000); }},
      flag("storage.dedup.enabled", "dedup", "deduplicate similar documents (on by default)",
           [](Options& o, bool on) { o.dedup = on; }),
      flag("", "nodedup", "store every document whole", [](Options& o, bool on) { o.dedup = !on; }),
      {"storage.dedup.profile", "dedupProfile", Kind::text, "how documents are deduplicated [balanced|thesis|archive]",
       [](Options& o, const S& v) {
         o.dedup_profile = one_of(v, "dedupProfile", {"balanced", "thesis", "archive"});
       }},
      {"replication.oplogSizeMB", "oplogSize", Kind::integer, "size to use (in MB) for the operation log",
       [](Options& o, const S& v) { o.oplog_mb = number<int64_t>(v, "replication.oplogSizeMB", 1, int64_t{1} << 40); }},
      refused("storage.directoryPerDB", "directoryperdb", "a directory per database is not supported: all tables lie in dbpath"),
      refused("storage.wiredTiger.engineConfig.directoryForIndexes", "wiredTigerDirectoryForIndexes",
              "a directory for indexes is not supported: all tables lie in dbpath"),
      {"replication.replSetName", "replSet", Kind::text, "arg is <setname>",
       [](Options& o, const S& v) {
         if (v.empty()) bad("--replSet: the name of a replica set can't be empty");
         if (v.find('/') != v.npos) bad("--replSet: a list of seeds is not supported, only the name of the set");
         o.repl_set = v;
       }},
      flag("replication.enableMajorityReadConcern", "enableMajorityReadConcern", "",
           [](Options&, bool on) {
             if (!on) bad("enableMajorityReadConcern:false is no longer supported");
           }),
      refused("sharding.clusterRole", "shardsvr", "sharding is not supported"),
  };
}

std::vector<Setting> process_settings() {
  using S = std::string;
  return {
      {"", "config,-f", Kind::text, "configuration file specifying additional options", {}},
      {"", "help,-h", Kind::flag, "show this usage information", [](Options& o, const S&) { o.action = Options::Action::help; }},
      {"", "version", Kind::flag, "show version information", [](Options& o, const S&) { o.action = Options::Action::version; }},
      {"", "shutdown", Kind::flag, "kill a running server (for init scripts)",
       [](Options& o, const S&) { o.action = Options::Action::shutdown; }},
      {"", "repair", Kind::flag, "run repair on all databases, and end",
       [](Options& o, const S&) { o.action = Options::Action::repair; }},
      {"", "replayLogOf", Kind::text, "replay the log of this later copy of the data directory, and end",
       [](Options& o, const S& v) {
         if (v.empty()) bad("--replayLogOf needs a data directory");
         o.replay_log_of = v;
         o.action = Options::Action::replay;
       }},
      {"", "replayFrom", Kind::text, "with --replayLogOf: the data directory has everything before this timestamp (1700000000:5)",
       [](Options& o, const S& v) { o.replay_from = moment(v, "replayFrom"); }},
      {"", "replayLogBelow", Kind::text, "with --replayLogOf: the log has everything before this timestamp",
       [](Options& o, const S& v) { o.replay_log_below = moment(v, "replayLogBelow"); }},
      {"", "replayUntil", Kind::text, "with --replayLogOf: the timestamp or date of the last change to replay",
       [](Options& o, const S& v) { o.replay_until = moment(v, "replayUntil"); }},
      {"systemLog.verbosity", "verbose,-v", Kind::count, "be more verbose (include multiple times for more, e.g. -vvvvv)",
       [](Options& o, const S& v) { o.verbosity = number<int>(v, "systemLog.verbosity", 0, 5); }},
      flag("systemLog.quiet", "quiet", "quieter output", [](Options& o, bool on) { o.quiet = on; }),
      {"systemLog.path", "logpath", Kind::text, "log file to send writes to instead of stdout",
       [](Options& o, const S& v) { o.log_path = v; }},
      {"systemLog.destination", "", Kind::text, "", [](Options&, const S& v) { one_of(v, "systemLog.destination", {"file"}); }},
      flag("systemLog.logAppend", "logappend", "append to logpath instead of over-writing",
           [](Options& o, bool on) { o.log_append = on; }),
      {"systemLog.logRotate", "logRotate", Kind::text, "set the log rotation behavior (rename|reopen)",
       [](Options& o, const S& v) {
         o.log_reopen = one_of(v, "systemLog.logRotate", {"rename", "reopen"}) == "reopen";
       }},
      flag("processManagement.fork", "fork", "fork server process", [](Options& o, bool on) { o.fork = on; }),
      {"processManagement.pidFilePath", "pidfilepath", Kind::text, "full path to pidfile (if not set, no pidfile is created)",
       [](Options& o, const S& v) { o.pid_file = v; }},
      {"processManagement.timeZoneInfo", "timeZoneInfo", Kind::text, "full path to time zone info directory: the system's",
       [](Options&, const S& v) {
         if (v != "/usr/share/zoneinfo") bad("timeZoneInfo: time zones are read from /usr/share/zoneinfo only, not from " + v);
       }},
      flag("security.javascriptEnabled", "", "", [](Options& o, bool on) { o.scripting = on; }),
      flag("", "noscripting", "disable clients' JavaScript functions", [](Options& o, bool on) { o.scripting = !on; }),
      {"setParameter", "setParameter", Kind::list, "set a configurable parameter: name=value", set_parameter},
      {"operationProfiling.slowOpThresholdMs", "slowms", Kind::integer, "value of slow for the log, in ms",
       [](Options& o, const S& v) { o.slow_op_ms = number<int64_t>(v, "operationProfiling.slowOpThresholdMs", -1, INT32_MAX); }},
      {"operationProfiling.slowOpSampleRate", "slowOpSampleRate", Kind::real, "fraction of slow ops to include in the log",
       [](Options& o, const S& v) { o.slow_op_sample_rate = number<double>(v, "operationProfiling.slowOpSampleRate", 0, 1); }},
      {"operationProfiling.mode", "profile", Kind::text, "0=off 1=slow, 2=all",
       [](Options& o, const S& v) { o.profile_level = profile_level(v); }},
  };
}

const std::vector<Setting>& all_settings() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> list = process_settings();
    for (auto& setting : net_settings()) list.push_back(std::move(setting));
    for (auto& setting : storage_settings()) list.push_back(std::move(setting));
    for (auto& setting : settings::tls()) list.push_back(std::move(setting));
    for (auto& setting : settings::protection()) list.push_back(std::move(setting));
    for (auto& setting : settings::access()) list.push_back(std::move(setting));
    return list;
  }();
  return all;
}

std::string long_name(const Setting& setting) {
  return setting.cli.substr(0, setting.cli.find(','));
}

// The texts that the user gave, by the setting's place in the table. Lists keep every occurrence.
using Given = std::map<size_t, std::vector<std::string>>;

// ---- command line ------------------------------------------------------------

struct CommandLine {
  CLI::App app;
  std::vector<std::vector<std::string>> texts;
  std::vector<CLI::Option*> options;

  CommandLine() : texts(all_settings().size()), options(all_settings().size()) {
    app.allow_extras();
    app.set_help_flag();
    for (size_t i = 0; i < all_settings().size(); ++i) {
      const Setting& setting = all_settings()[i];
      if (setting.cli.empty()) continue;
      const bool bare = setting.kind == Kind::flag || setting.kind == Kind::count;
      options[i] = bare ? app.add_flag("--" + setting.cli) : app.add_option("--" + setting.cli, texts[i]);
      // A refused setting may have a value or none.
      if (setting.kind == Kind::refused) options[i]->expected(0, 1);
      // A setting takes one value each time it is named; otherwise it would take the next word too.
      if (!bare && setting.kind != Kind::refused) options[i]->allow_extra_args(false);
    }
  }
};

Given read_command_line(const std::vector<std::string>& argv) {
  CommandLine line;
  std::vector<std::string> reversed(argv.rbegin(), argv.rend());
  if (!reversed.empty()) reversed.pop_back();
  const std::string hint = "\ntry 'palimpsestd --help' for more information";
  try {
    line.app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    bad("Error parsing command line: " + std::string(error.what()) + hint);
  }
  for (const std::string& extra : line.app.remaining()) {
    if (extra.starts_with("-")) bad("Error parsing command line: unrecognised option '" + extra + "'" + hint);
    bad("Error parsing command line: too many positional options have been specified on the command line" + hint);
  }
  Given given;
  for (size_t i = 0; i < all_settings().size(); ++i) {
    const CLI::Option* option = line.options[i];
    if (!option || option->count() == 0) continue;
    const Kind kind = all_settings()[i].kind;
    if (kind == Kind::flag)
      given[i] = {option->as<bool>() ? "true" : "false"};
    else if (kind == Kind::count)
      given[i] = {std::to_string(option->count())};
    else
      given[i] = option->results();
    if (kind != Kind::list && given[i].size() > 1) {
      bad("Error parsing command line: option '--" + long_name(all_settings()[i]) + "' cannot be specified more than once" +
          hint);
    }
  }
  return given;
}

// ---- YAML --------------------------------------------------------------------

void read_node(const YAML::Node& node, const std::string& path, Given& given, Options& options);

void read_scalar(const YAML::Node& node, const std::string& path, Given& given, Options& options) {
  const std::string text = node.IsNull() ? "" : node.as<std::string>();
  static const std::string component = "systemLog.component.";
  if (path.starts_with("setParameter.")) {
    options.set_parameters.emplace_back(path.substr(13), text);
    return;
  }
  if (path.starts_with(component) && path.ends_with(".verbosity") && path.size() > component.size() + 10) {
    const std::string name = path.substr(component.size(), path.size() - component.size() - 10);
    options.component_verbosity.emplace_back(name, number<int>(text, path, -1, 5));
    return;
  }
  for (size_t i = 0; i < all_settings().size(); ++i) {
    if (all_settings()[i].yaml == path && !path.empty()) {
      if (!given.emplace(i, std::vector{text}).second) {
        bad("Error parsing YAML config file: duplicate key: " + path);
      }
      return;
    }
  }
  bad("Unrecognized option: " + path + "\ntry 'palimpsestd --help' for more information");
}

void read_node(const YAML::Node& node, const std::string& path, Given& given, Options& options) {
  if (node.IsMap()) {
    for (const auto& entry : node) {
      const auto name = entry.first.as<std::string>();
      read_node(entry.second, path.empty() ? name : path + "." + name, given, options);
    }
  } else if (node.IsSequence()) {
    std::string joined;
    for (const auto& item : node) joined += (joined.empty() ? "" : ",") + item.as<std::string>();
    read_scalar(YAML::Node(joined), path, given, options);
  } else if (!path.empty() && (node.IsScalar() || node.IsNull())) {
    read_scalar(node, path, given, options);
  }
}

Given read_yaml(const std::string& path, Options& options) {
  Given given;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) bad("Error reading config file: Is a directory: " + path);
  try {
    read_node(YAML::LoadFile(path), "", given, options);
  } catch (const YAML::BadFile&) {
    bad("Error opening config file: No such file or directory: " + path);
  } catch (const YAML::Exception& error) {
    bad("Error parsing YAML config file: " + std::string(error.what()));
  } catch (const std::ios_base::failure& error) {
    bad("Error reading config file: " + path + ": " + error.what());
  }
  return given;
}

// ---- what getCmdLineOpts shows -------------------------------------------------

struct Tree {
  std::map<std::string, Tree> children;
  const Setting* setting = nullptr;
  std::string text;
};

constexpr char secret_shown[] = "<password>";

void append_tree(bson::Builder& out, const Tree& tree) {
  for (const auto& [name, child] : tree.children) {
    if (!child.setting) {
      auto object = out.object(name);
      append_tree(object, child);
    } else if (child.setting->kind == Kind::flag) {
      out.append(name, child.text == "true");
    } else if (child.setting->kind == Kind::integer || child.setting->kind == Kind::count) {
      out.append(name, static_cast<int32_t>(std::strtoll(child.text.c_str(), nullptr, 10)));
    } else if (child.setting->kind == Kind::real) {
      out.append(name, std::strtod(child.text.c_str(), nullptr));
    } else if (child.setting->kind == Kind::secret) {
      out.append(name, secret_shown);
    } else {
      out.append(name, child.text);
    }
  }
}

bson::Document parsed_document(const Given& given, const Options& options) {
  Tree root;
  for (const auto& [i, texts] : given) {
    const Setting& setting = all_settings()[i];
    if (setting.kind == Kind::list) continue;
    Tree* at = &root;
    for (const auto& part : split(setting.yaml.empty() ? long_name(setting) : setting.yaml, '.')) at = &at->children[part];
    at->setting = &setting;
    at->text = texts.front();
  }
  bson::Builder out;
  append_tree(out, root);
  if (!options.set_parameters.empty()) {
    auto object = out.object("setParameter");
    for (const auto& [name, value] : options.set_parameters) object.append(name, value);
  }
  return out.done();
}

// The arguments without passwords: "--name", "secret" and "--name=secret".
std::vector<std::string> shown_arguments(std::vector<std::string> argv) {
  for (const Setting& setting : all_settings()) {
    if (setting.kind != Kind::secret) continue;
    const std::string name = "--" + long_name(setting);
    for (size_t i = 0; i < argv.size(); ++i) {
      if (argv[i].starts_with(name + "=")) argv[i] = name + "=" + secret_shown;
      if (argv[i] == name && i + 1 < argv.size()) argv[i + 1] = secret_shown;
    }
  }
  return argv;
}

void set_options(const Given& given, Options& options) {
  for (const auto& [i, texts] : given) {
    if (!all_settings()[i].apply) continue;
    for (const auto& text : texts) all_settings()[i].apply(options, text);
  }
}

}  // namespace

Options parse_options(const std::vector<std::string>& argv) {
  Options options;
  options.argv = shown_arguments(argv);
  Given given = read_command_line(argv), of_file;
  for (size_t i = 0; i < all_settings().size(); ++i) {
    if (long_name(all_settings()[i]) == "config" && given.count(i)) of_file = read_yaml(given[i].front(), options);
  }
  // The command line wins over the file: the same setting, and another one that sets the same option.
  std::erase_if(of_file, [&](const auto& one) { return given.contains(one.first); });
  set_options(of_file, options);
  set_options(given, options);
  given.merge(of_file);
  if (options.fork && options.log_path.empty()) bad("--fork has to be used with --logpath or --syslog");
  if (options.action == Options::Action::repair && !options.repl_set.empty())
    bad("--repair repairs what this server has alone: leave out --replSet, or empty the directory and let the set copy its data");
  const bool replays = options.action == Options::Action::replay;
  if (!replays && options.action != Options::Action::help && !options.replay_log_of.empty())
    bad("--replayLogOf can't be used with another option that ends the process");
  if (replays && !options.repl_set.empty()) bad("--replayLogOf works on a copy of a data directory: leave out --replSet");
  if (replays && options.replay_until == 0) bad("--replayLogOf needs --replayUntil");
  if (options.replay_log_of.empty() && (options.replay_from | options.replay_log_below | options.replay_until) != 0)
    bad("--replayFrom, --replayLogBelow and --replayUntil must be used with --replayLogOf");
  if (!options.repl_set.empty() && options.port == 0) bad("--replSet: a member needs a port that others know, not --port 0");
  settings::check_tls(options);
  settings::check_protection(options);
  settings::check_access(options);
  options.parsed = parsed_document(given, options);
  return options;
}

std::string help_text() {
  std::string text = "Usage: palimpsestd [options]\n\nOptions:\n";
  for (const Setting& setting : all_settings()) {
    if (setting.cli.empty() || setting.help.empty()) continue;
    std::string left = "  --" + long_name(setting);
    if (const size_t comma = setting.cli.find(','); comma != std::string::npos)
      left += " [ " + setting.cli.substr(comma + 1) + " ]";
    if (setting.kind != Kind::flag && setting.kind != Kind::count) left += " arg";
    left.resize(std::max<size_t>(left.size() + 1, 46), ' ');
    text += left + setting.help + "\n";
  }
  return text;
}

std::string_view palimpsest_version() {
  return "0.1.0";
}

std::string version_text() {
  const std::string version(palimpsest_version()), compatible(compatible_version), commit(commit_id()), date(commit_date());
  std::string text = "palimpsestd version v" + version + "\n";
  if (!date.empty()) text += "commit " + commit + " of " + date + "\n";
  return text + "compatible with MongoDB v" + compatible + "\nBuild Info: {\"version\": \"" + compatible +
         "\", \"palimpsestVersion\": \"" + version + "\", \"gitVersion\": \"" + commit +
         "\", \"modules\": [], \"allocator\": \"" + PALIMPSEST_ALLOCATOR + "\"}\n";
}

namespace {

constexpr double gb = 1024.0 * 1024 * 1024;

// Returns the machine's memory, or the container's if that is less.
double machine_ram() {
  struct sysinfo machine {};
  ::sysinfo(&machine);
  double ram = static_cast<double>(machine.totalram) * machine.mem_unit;
  for (const char* limit : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    double bytes = 0;
    if (std::ifstream(limit) >> bytes && bytes > 0) ram = std::min(ram, bytes);
  }
  return ram;
}

}  // namespace

uint64_t Options::cache_bytes() const {
  if (cache_gb > 0) return static_cast<uint64_t>(cache_gb * gb);
  return static_cast<uint64_t>(std::max((machine_ram() - gb) / 2, gb / 4));
}

uint64_t Options::operation_memory_bytes() const {
  return static_cast<uint64_t>(std::max((machine_ram() - static_cast<double>(cache_bytes())) / 2, gb / 2));
}

}  // namespace server
