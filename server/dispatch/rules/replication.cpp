// The rules of commands about the set, its members and its log.
#include "server/dispatch/rules/rules.h"

namespace server::rules {
namespace {

using enum Action;

// Entries of documents need what the writes would; those of commands may change anything.
bool applies(const Asker& asker) {
  if (asker.everything()) return true;
  for (const bson::DocumentView entry : asker.request().documents("applyOps")) {
    const auto op = entry.find("op"), ns = entry.find("ns");
    if (!op.is_string() || !ns.is_string()) return false;
    const std::string_view kind = op.as_string();
    if (kind == "n") continue;
    ActionSet actions;
    if (kind == "i") actions = {insert, update};
    if (kind == "u") actions = {insert, update};
    if (kind == "d") actions = {remove};
    if (actions.empty() || !asker.ns(ns.as_string(), actions)) return false;
  }
  return true;
}

bool changes_state(const Asker& asker) {
  return asker.cluster({replSetStateChange});
}
bool configures(const Asker& asker) {
  return asker.cluster({replSetConfigure});
}

constexpr NamedRule list[] = {
    {"_initialSyncBegin", members_only},
    {"_initialSyncEnd", members_only},
    {"_initialSyncFiles", members_only},
    {"_initialSyncRead", members_only},
    {"appendOplogNote", [](const Asker& asker) { return asker.cluster({appendOplogNote}); }},
    {"applyOps", applies},
    {"flushRouterConfig", [](const Asker& asker) { return asker.cluster({flushRouterConfig}); }},
    {"getClusterParameter", [](const Asker& asker) { return asker.cluster({getClusterParameter}); }},
    {"getDefaultRWConcern", [](const Asker& asker) { return asker.cluster({getDefaultRWConcern}); }},
    {"getShardMap", [](const Asker& asker) { return asker.cluster({getShardMap}); }},
    {"hello", anybody},
    {"isMaster", anybody},
    {"replSetFreeze", changes_state},
    {"replSetGetConfig", [](const Asker& asker) { return asker.cluster({replSetGetConfig}); }},
    {"replSetGetStatus", [](const Asker& asker) { return asker.cluster({replSetGetStatus}); }},
    {"replSetHeartbeat", members_only},
    {"replSetInitiate", configures},
    {"replSetMaintenance", changes_state},
    {"replSetReconfig", configures},
    {"replSetStepDown", changes_state},
    {"restartInPlace", [](const Asker& asker) { return asker.cluster({shutdown}); }},
    {"setClusterParameter", [](const Asker& asker) { return asker.cluster({setClusterParameter}); }},
    {"setDefaultRWConcern", [](const Asker& asker) { return asker.cluster({setDefaultRWConcern}); }},
    {"setFeatureCompatibilityVersion", [](const Asker& asker) { return asker.cluster({setFeatureCompatibilityVersion}); }},
    {"shardingState", [](const Asker& asker) { return asker.cluster({shardingState}); }},
};

}  // namespace

std::span<const NamedRule> replication_rules() {
  return list;
}

}  // namespace server::rules
