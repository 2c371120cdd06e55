// Actions are what a privilege allows. They have MongoDB's names; those of branches and snapshots are called like their commands.
#pragma once

#include <bitset>
#include <initializer_list>
#include <optional>
#include <string_view>
// clang-format off
#define PALIMPSEST_ACTIONS(X)                                                                                          \
  /* reading and writing */                                                                                            \
  X(find) X(insert) X(remove) X(update) X(bypassDocumentValidation) X(useUUID) X(forceUUID) X(changeStream)            \
  /* collections, indexes, databases */                                                                                \
  X(createCollection) X(createIndex) X(collMod) X(compact) X(convertToCapped) X(dropCollection) X(dropDatabase)        \
  X(dropIndex) X(reIndex) X(renameCollectionSameDB) X(enableProfiler) X(collStats) X(indexStats) X(dbHash) X(dbStats)  \
  X(listCollections) X(listIndexes) X(listDatabases) X(validate) X(storageDetails) X(planCacheRead) X(planCacheWrite)  \
  X(planCacheIndexFilter) X(createSearchIndexes) X(dropSearchIndex) X(listSearchIndexes) X(updateSearchIndex)          \
  X(compactStructuredEncryptionData) X(cleanupStructuredEncryptionData) X(queryStatsRead) X(queryStatsReadTransformed) \
  /* users and roles */                                                                                                \
  X(createUser) X(dropUser) X(viewUser) X(changePassword) X(changeOwnPassword) X(changeCustomData)                     \
  X(changeOwnCustomData) X(createRole) X(dropRole) X(viewRole) X(grantRole) X(revokeRole)                              \
  X(setAuthenticationRestriction) X(authSchemaUpgrade) X(invalidateUserCache) X(impersonate)                           \
  /* the server */                                                                                                     \
  X(applicationMessage) X(auditLogRotate) X(auditConfigure) X(closeAllDatabases) X(connPoolStats) X(connPoolSync)      \
  X(cpuProfiler) X(dropConnections) X(fsync) X(unlock) X(getCmdLineOpts) X(getLog) X(getParameter) X(setParameter)     \
  X(hostInfo) X(inprog) X(killop) X(killCursors) X(killAnyCursor) X(killAnySession) X(listSessions) X(logRotate)       \
  X(netstat) X(oidReset) X(rotateCertificates) X(serverStatus) X(shutdown) X(top) X(touch) X(trafficRecord)            \
  X(setUserWriteBlockMode) X(bypassWriteBlockingMode) X(checkFreeMonitoringStatus) X(setFreeMonitoring)                \
  X(createBackup)                                                                                                      \
  /* sets and clusters */                                                                                              \
  X(appendOplogNote) X(replSetConfigure) X(replSetGetConfig) X(replSetGetStatus) X(replSetHeartbeat)                   \
  X(replSetResizeOplog) X(replSetStateChange) X(resync) X(getDefaultRWConcern) X(setDefaultRWConcern)                  \
  X(getClusterParameter) X(setClusterParameter) X(setFeatureCompatibilityVersion) X(addShard) X(enableSharding)        \
  X(flushRouterConfig) X(getDatabaseVersion) X(getShardMap) X(getShardVersion) X(listShards) X(moveChunk)              \
  X(removeShard) X(shardingState) X(splitChunk) X(splitVector) X(cleanupOrphaned) X(clearJumboFlag)                    \
  X(refineCollectionShardKey) X(reshardCollection) X(analyzeShardKey) X(configureQueryAnalyzer)                        \
  X(checkMetadataConsistency) X(issueDirectShardOperations)                                                            \
  /* branches and snapshots */                                                                                         \
  X(createBranch) X(dropBranch) X(renameBranch) X(resetBranch) X(listBranches) X(createTag) X(dropTag) X(listTags)     \
  X(commit) X(merge) X(cherryPick) X(revert) X(diff) X(log) X(status) X(getProof) X(verify) X(versionStats)            \
  X(createSnapshot) X(dropSnapshot) X(listSnapshots) X(retention) X(purge) X(sweep) X(dedupChain) X(dedupAdvise)       \
  X(addRemote) X(removeRemote) X(listRemotes) X(fetch) X(push) X(pull) X(packCommits) X(receivePack)                   \
  /* everything */ X(internal) X(anyAction)
// clang-format on
namespace server::access {

enum class Action : unsigned char {
#define X(name) name,
  PALIMPSEST_ACTIONS(X)
#undef X
};
inline constexpr size_t action_count = static_cast<size_t>(Action::anyAction) + 1;

class ActionSet {
 public:
  ActionSet() = default;
  ActionSet(std::initializer_list<Action> actions) {
    for (const Action action : actions) add(action);
  }
  // anyAction stands for all of them.
  void add(Action action) { action == Action::anyAction ? void(bits_.set()) : void(bits_.set(static_cast<size_t>(action))); }
  void add(const ActionSet& other) { bits_ |= other.bits_; }
  void remove(const ActionSet& other) { bits_ &= ~other.bits_; }
  bool has(Action action) const { return bits_.test(static_cast<size_t>(action)); }
  bool has_all(const ActionSet& other) const { return (other.bits_ & ~bits_).none(); }
  bool empty() const { return bits_.none(); }
  bool operator==(const ActionSet& other) const = default;

 private:
  std::bitset<action_count> bits_;
};

std::string_view action_name(Action action);
std::optional<Action> find_action(std::string_view name);

}  // namespace server::access
