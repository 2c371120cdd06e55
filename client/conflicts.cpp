#include "client/conflicts.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "bson/json.h"
#include "client/connection.h"
#include "client/table.h"
#include "client/watched.h"

namespace client {

void MergeOptions::add_options(CLI::App& verb, Manual manual, const std::string& nothing) {
  std::vector<std::string> ways = {"fail", "ours", "theirs"};
  if (manual == Manual::yes) ways.emplace_back("manual");
  verb.add_option("--mode", mode, "what a conflict is")
      ->check(CLI::IsMember({"fieldTouched", "fieldDivergent", "documentTouched", "documentDivergent"}));
  verb.add_option("--resolve", resolve, "what happens to conflicts; by default " + nothing)->check(CLI::IsMember(ways));
  verb.add_flag("--dry-run", dry_run, "show the conflicts; " + nothing);
}

void MergeOptions::append_to(bson::Builder& command) const {
  if (!mode.empty()) command.append("mode", mode);
  if (!resolve.empty()) command.append("resolve", resolve);
}

bson::Document run_or_show_conflicts(const Target& target, Connection& server, const bson::Document& command,
                                     const std::string& what, bool dry_run) {
  const std::string& db = server.required_db();
  bson::Builder dry;
  dry.append_all(command).append("dryRun", true);
  const bson::Document as_dry_run = dry.done();
  if (dry_run) return run_watched(target, server, db, as_dry_run, what);
  try {
    return run_watched(target, server, db, command, what);
  } catch (const datasets::replay::ClientError& refused) {
    constexpr uint32_t operation_failed = 96;
    if (refused.code() != operation_failed) throw;
    bson::Document reply = server.run(db, as_dry_run);
    if (reply.view()["conflictCount"].to_int64() == 0) throw;
    return reply;
  }
}

void print_conflicts(bson::DocumentView reply) {
  if (!reply["conflicts"].is_array()) return;
  Table table({{"collection"}, {"_id"}, {"conflict"}});
  for (const bson::Element& one : reply["conflicts"].as_document()) {
    if (!one.is_object()) continue;
    const bson::DocumentView conflict = one.as_document();
    std::string what = conflict.has("index") ? "index " + text_of(conflict["index"]) : std::string();
    if (conflict["paths"].is_array())
      for (const bson::Element& path : conflict["paths"].as_document()) what += (what.empty() ? "" : ", ") + text_of(path);
    table.add({printable(text_of(conflict["collection"])), bson::to_json(conflict["_id"]), printable(what)});
  }
  table.print(std::cout, 2);
}

}  // namespace client
