#include "console/allowed_commands.h"

#include <algorithm>
#include <vector>

namespace console {
namespace {

using base::ErrorCode;
using base::Failure;

enum class Kind {
  reads,
  reads_of_primary,  // reads, but members that are no primary refuse it
  writes,
};

struct Entry {
  std::string_view name;
  Kind kind;
  std::vector<std::string_view> arguments;
};

// An argument that isn't here is refused: what a page doesn't use can't be used against whoever looks at it.
const std::vector<Entry>& entries() {
  static const std::vector<std::string_view> merging = {"mode",   "resolve", "paths",   "collections", "into",
                                                        "branch", "dryRun",  "message", "author"};
  static const std::vector<Entry> list = {
      {"hello", Kind::reads, {}},
      {"ping", Kind::reads, {}},
      {"buildInfo", Kind::reads, {}},
      {"hostInfo", Kind::reads, {}},
      {"connectionStatus", Kind::reads, {}},
      {"serverStatus", Kind::reads, {}},
      {"getCmdLineOpts", Kind::reads, {}},
      {"getLog", Kind::reads, {}},
      {"getParameter", Kind::reads, {}},
      {"currentOp", Kind::reads, {"$all", "$ownOps"}},
      {"top", Kind::reads, {}},
      {"profile", Kind::reads, {"slowms", "sampleRate"}},
      {"listDatabases", Kind::reads, {"nameOnly", "branches", "filter"}},
      {"dbStats", Kind::reads, {"scale"}},
      {"listCollections", Kind::reads, {"nameOnly", "filter", "cursor"}},
      {"collStats", Kind::reads, {"scale"}},
      {"listIndexes", Kind::reads, {"cursor"}},
      {"find", Kind::reads, {"filter", "projection", "sort", "skip", "limit", "batchSize", "singleBatch", "hint", "collation"}},
      {"count", Kind::reads, {"query", "limit", "skip", "hint", "collation"}},
      {"aggregate", Kind::reads, {"pipeline", "cursor", "allowDiskUse", "hint", "collation"}},
      {"listBranches", Kind::reads, {"cursor"}},
      {"listTags", Kind::reads, {"cursor"}},
      {"log", Kind::reads, {"limit", "filter", "touching", "cursor"}},
      {"listStashes", Kind::reads, {"cursor"}},
      {"listRemotes", Kind::reads, {"cursor"}},
      {"status", Kind::reads, {}},
      {"diff", Kind::reads, {"from", "to", "collection", "filter", "cursor"}},
      {"versionStats", Kind::reads, {"perBranch"}},
      {"retention", Kind::reads, {}},
      {"verify", Kind::reads, {}},
      {"getProof", Kind::reads, {"coll", "_id", "id"}},
      {"dedupChain", Kind::reads, {"_id", "id", "skip", "limit"}},
      {"listSnapshots", Kind::reads, {"cursor"}},
      {"replSetGetStatus", Kind::reads, {}},
      {"replSetGetConfig", Kind::reads, {}},
      {"listConflicts", Kind::reads_of_primary, {"cursor"}},

      {"createBranch", Kind::writes, {"from"}},
      {"dropBranch", Kind::writes, {"force"}},
      {"createTag", Kind::writes, {"from"}},
      {"dropTag", Kind::writes, {}},
      {"commit", Kind::writes, {"message", "author", "collections"}},
      {"merge", Kind::writes, merging},
      {"cherryPick", Kind::writes, merging},
      {"revert", Kind::writes, merging},
      {"rebase", Kind::writes, {"mode", "resolve", "paths", "collections"}},
      {"squash", Kind::writes, {"message", "author"}},
      {"stash", Kind::writes, {"message", "author"}},
      {"stashApply", Kind::writes, {"mode", "resolve", "paths", "collections", "dryRun"}},
      {"stashPop", Kind::writes, {"mode", "resolve", "paths", "collections", "dryRun"}},
      {"dropStash", Kind::writes, {}},
      {"fetch", Kind::writes, {"refs"}},
      {"push", Kind::writes, {"branch"}},
      {"pull", Kind::writes, {"branch"}},
      {"resolveConflict", Kind::writes, {"collection", "_id", "id", "take", "document"}},
      {"continueMerge", Kind::writes, {"message", "author"}},
      {"abortMerge", Kind::writes, {}},
      {"createSnapshot", Kind::writes, {"name"}},
      {"dropSnapshot", Kind::writes, {}},
      {"killOp", Kind::writes, {"op"}},
  };
  return list;
}

// Stages that write, wherever they stand in a pipeline.
bool has_writing_stage(bson::ValueView value) {
  if (!value.is_object() && !value.is_array()) return false;
  for (const bson::Element& field : value.as_document()) {
    if (value.is_object() && (field.name == "$out" || field.name == "$merge")) return true;
    if (has_writing_stage(field)) return true;
  }
  return false;
}

std::optional<std::string> bad_batch(bson::ValueView size) {
  if (!size.exists()) return std::nullopt;
  if (size.is_number() && size.to_int64() >= 0 && size.to_int64() <= batch_documents_max) return std::nullopt;
  return "a batch has at most " + std::to_string(batch_documents_max) + " documents";
}

// Returns what is wrong with an argument whose name is allowed.
std::optional<std::string> bad_argument(const Entry& entry, bson::DocumentView command, bool writes) {
  const bson::Element first = command.first();
  if (entry.name == "aggregate") {
    const bson::Element pipeline = command["pipeline"];
    if (!pipeline.is_array()) return "a pipeline is an array";
    if (has_writing_stage(pipeline)) return "the console runs no $out and no $merge";
  }
  if (entry.name == "retention" && !first.is_number()) return "the console shows the retention and doesn't change it";
  // The threshold is set even if the level stays.
  if (entry.name == "profile" && !writes && (first.to_int64() != -1 || command.has("slowms") || command.has("sampleRate")))
    return "the profiler's settings are changed with --write alone; -1 shows them";
  if (entry.name == "find") {
    if (auto bad = bad_batch(command["batchSize"])) return bad;
  }
  const bson::Element cursor = command["cursor"];
  if (cursor.exists()) {
    if (!cursor.is_object()) return "cursor is an object";
    for (const bson::Element& field : cursor.as_document())
      if (field.name != "batchSize") return "cursor has batchSize alone";
    return bad_batch(cursor.as_document()["batchSize"]);
  }
  return std::nullopt;
}

// A merge that is only tried changes nothing.
bool only_tries(bson::DocumentView command) {
  const bson::Element dry = command["dryRun"];
  return dry.type() == bson::Type::boolean && dry.as_bool();
}

}  // namespace

base::Result<AllowedCommand> check_command(std::string_view db, bson::DocumentView command, bool writes) {
  if (db.empty() || db.size() > 255 || db.find('\0') != db.npos)
    return Failure{ErrorCode::invalid_namespace, "that is no database's name"};
  if (command.empty()) return Failure{ErrorCode::failed_to_parse, "the command is empty"};
  const std::string_view name = command.first().name;
  const auto found = std::find_if(entries().begin(), entries().end(), [&](const Entry& entry) { return entry.name == name; });
  if (found == entries().end())
    return Failure{ErrorCode::command_not_found, "the console doesn't run the command " + std::string(name)};
  if (found->kind == Kind::writes && !writes && !only_tries(command))
    return Failure{ErrorCode::unauthorized, "the console was started without --write, so it doesn't run " + std::string(name)};
  bool is_name = true;
  for (const bson::Element& field : command) {
    const bool allowed = is_name || field.name == "maxTimeMS" ||
                         std::find(found->arguments.begin(), found->arguments.end(), field.name) != found->arguments.end();
    is_name = false;
    if (!allowed)
      return Failure{ErrorCode::bad_value, "the console doesn't pass on " + std::string(field.name) + " of " + std::string(name)};
  }
  if (auto bad = bad_argument(*found, command, writes)) return Failure{ErrorCode::bad_value, *bad};
  return AllowedCommand{found->name, found->kind != Kind::reads};
}

}  // namespace console
