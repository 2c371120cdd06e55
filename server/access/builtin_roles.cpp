#include "server/access/builtin_roles.h"

#include <algorithm>
#include <array>

namespace server::access {
namespace {

using enum Action;
using Kind = ResourcePattern::Kind;

constexpr std::array<std::string_view, 6> of_databases = {"dbAdmin", "dbOwner",   "enableSharding",
                                                          "read",    "readWrite", "userAdmin"};
constexpr std::array<std::string_view, 13> of_admin = {"__system",
                                                       "backup",
                                                       "clusterAdmin",
                                                       "clusterManager",
                                                       "clusterMonitor",
                                                       "dbAdminAnyDatabase",
                                                       "directShardOperations",
                                                       "hostManager",
                                                       "readAnyDatabase",
                                                       "readWriteAnyDatabase",
                                                       "restore",
                                                       "root",
                                                       "userAdminAnyDatabase"};

const ResourcePattern cluster{Kind::cluster, {}, {}};
const ResourcePattern anything{Kind::any, {}, {}};
ResourcePattern names(std::string_view db, std::string_view collection = {}) {
  return {Kind::names, std::string(db), std::string(collection)};
}
const ResourcePattern any_database = names("");

const ActionSet& reading() {
  static const ActionSet set{
      changeStream, collStats,         dbHash,        dbStats,      find,          killCursors, listCollections,
      listIndexes,  listSearchIndexes, planCacheRead, listBranches, listTags,      log,         diff,
      status,       getProof,          verify,        versionStats, listSnapshots, listRemotes, packCommits};
  return set;
}

const ActionSet& writing() {
  static const ActionSet set = [] {
    ActionSet both{convertToCapped,
                   createCollection,
                   createIndex,
                   createSearchIndexes,
                   dropCollection,
                   dropIndex,
                   dropSearchIndex,
                   insert,
                   remove,
                   renameCollectionSameDB,
                   update,
                   updateSearchIndex,
                   commit,
                   merge,
                   cherryPick,
                   revert,
                   fetch,
                   push,
                   pull,
                   receivePack};
    both.add(reading());
    return both;
  }();
  return set;
}

const ActionSet& administering_users() {
  static const ActionSet set{changeCustomData, changePassword, createRole,
                             createUser,       dropRole,       dropUser,
                             grantRole,        revokeRole,     setAuthenticationRestriction,
                             viewRole,         viewUser};
  return set;
}

const ActionSet& administering() {
  static const ActionSet set{bypassDocumentValidation,
                             collMod,
                             collStats,
                             compact,
                             convertToCapped,
                             createCollection,
                             createIndex,
                             createSearchIndexes,
                             dbStats,
                             dropCollection,
                             dropDatabase,
                             dropIndex,
                             dropSearchIndex,
                             enableProfiler,
                             listCollections,
                             listIndexes,
                             listSearchIndexes,
                             planCacheIndexFilter,
                             planCacheRead,
                             planCacheWrite,
                             reIndex,
                             renameCollectionSameDB,
                             storageDetails,
                             updateSearchIndex,
                             validate,
                             createBranch,
                             dropBranch,
                             renameBranch,
                             resetBranch,
                             listBranches,
                             createTag,
                             dropTag,
                             listTags,
                             createSnapshot,
                             dropSnapshot,
                             listSnapshots,
                             retention,
                             sweep,
                             versionStats,
                             verify,
                             dedupChain,
                             dedupAdvise,
                             addRemote,
                             removeRemote,
                             listRemotes};
  return set;
}

const ActionSet& looking_at_profile() {
  static const ActionSet set{changeStream,   collStats, convertToCapped, createCollection, dbHash,      dbStats,
                             dropCollection, find,      killCursors,     listCollections,  listIndexes, planCacheRead};
  return set;
}

const ActionSet& looking_at_internals() {
  static const ActionSet set{collStats,  dbHash,      dbStats,         find,        getShardVersion,
                             indexStats, killCursors, listCollections, listIndexes, planCacheRead};
  return set;
}

void add(Privileges& out, const ResourcePattern& resource, const ActionSet& actions) {
  out.add({resource, actions});
}

void add_read(Privileges& out, std::string_view db) {
  add(out, names(db), reading());
  add(out, names(db, "system.js"), reading());
}

void add_read_write(Privileges& out, std::string_view db) {
  add(out, names(db), writing());
  add(out, names(db, "system.js"), writing());
}

void add_db_admin(Privileges& out, std::string_view db) {
  add(out, names(db), administering());
  add(out, names(db, "system.profile"), looking_at_profile());
}

void add_user_admin(Privileges& out, std::string_view db) {
  add(out, names(db), administering_users());
}

void add_db_owner(Privileges& out, std::string_view db) {
  add_read_write(out, db);
  add_db_admin(out, db);
  add_user_admin(out, db);
  add(out, names(db), {purge});
}

void add_user_admin_any(Privileges& out) {
  add_user_admin(out, "");
  for (const char* db : {"local", "config"}) add_user_admin(out, db);
  add(out, cluster, {authSchemaUpgrade, invalidateUserCache, listDatabases, viewRole, viewUser});
  for (const char* collection : {"system.users", "system.roles", "system.version", "system.new_users", "system.backup_users"})
    add(out, names("admin", collection), looking_at_internals());
  add(out, names("admin", "system.users"), {createIndex, dropIndex});
  add(out, names("admin", "system.roles"), {createIndex, dropIndex});
}

void add_db_admin_any(Privileges& out) {
  add_db_admin(out, "");
  add(out, cluster, {applicationMessage, listDatabases});
}

void add_monitor(Privileges& out) {
  add(out, cluster,
      {checkFreeMonitoringStatus,
       connPoolStats,
       getClusterParameter,
       getCmdLineOpts,
       getDefaultRWConcern,
       getLog,
       getParameter,
       getShardMap,
       hostInfo,
       inprog,
       listDatabases,
       listSessions,
       listShards,
       netstat,
       replSetGetConfig,
       replSetGetStatus,
       serverStatus,
       setFreeMonitoring,
       shardingState,
       top,
       queryStatsRead,
       queryStatsReadTransformed});
  add(out, any_database, {collStats, dbStats, getDatabaseVersion, getShardVersion, indexStats, useUUID, versionStats});
  for (const char* db : {"config", "local"}) add(out, names(db), looking_at_internals());
  add(out, names("local", "system.replset"), {find, collStats});
  add(out, names("", "system.profile"), {find, collStats, listIndexes});
}

void add_host_manager(Privileges& out) {
  add(out, cluster,
      {applicationMessage,
       auditLogRotate,
       closeAllDatabases,
       connPoolSync,
       cpuProfiler,
       dropConnections,
       flushRouterConfig,
       fsync,
       getCmdLineOpts,
       getLog,
       hostInfo,
       invalidateUserCache,
       killAnyCursor,
       killAnySession,
       killop,
       logRotate,
       oidReset,
       resync,
       rotateCertificates,
       setParameter,
       setUserWriteBlockMode,
       shutdown,
       touch,
       trafficRecord,
       unlock});
  add(out, any_database, {killCursors});
}

void add_manager(Privileges& out) {
  add(out, cluster,
      {addShard,
       appendOplogNote,
       applicationMessage,
       auditConfigure,
       checkMetadataConsistency,
       cleanupOrphaned,
       flushRouterConfig,
       getClusterParameter,
       getDefaultRWConcern,
       getShardMap,
       listSessions,
       listShards,
       removeShard,
       replSetConfigure,
       replSetGetConfig,
       replSetGetStatus,
       replSetResizeOplog,
       replSetStateChange,
       resync,
       setClusterParameter,
       setDefaultRWConcern,
       setFeatureCompatibilityVersion,
       setFreeMonitoring});
  add(out, any_database,
      {analyzeShardKey, clearJumboFlag, configureQueryAnalyzer, enableSharding, moveChunk, refineCollectionShardKey,
       reshardCollection, splitChunk, splitVector});
  ActionSet own = writing();
  own.remove({commit, merge, cherryPick, revert});
  for (const char* db : {"config", "local"}) add(out, names(db), own);
  add(out, names("local", "system.replset"), looking_at_internals());
}

void add_cluster_admin(Privileges& out) {
  add_monitor(out);
  add_host_manager(out);
  add_manager(out);
  add(out, any_database, {dropDatabase});
}

// Databases with branches keep these in admin, and a dump of the whole server has them, too.
constexpr const char* admin_collections_of_versions[] = {"system.arrivals", "system.remotes", "system.stashes"};

void add_backup(Privileges& out) {
  add(out, cluster,
      {appendOplogNote, createBackup, getParameter, getClusterParameter, listDatabases, serverStatus, setUserWriteBlockMode,
       bypassWriteBlockingMode});
  add(out, anything, {listCollections, listIndexes, collStats});
  ActionSet all{find, listBranches, listTags, listSnapshots, log};
  add(out, any_database, all);
  for (const char* db : {"config", "local"}) add(out, names(db), {find});
  for (const char* collection :
       {"system.js", "system.profile", "system.views", "system.buckets.", "system.users", "system.roles", "system.version"})
    add(out, names("", collection), {find});
  for (const char* collection : admin_collections_of_versions) add(out, names("admin", collection), {find});
  add(out, names("config", "settings"), {insert, update});
  add(out, names("local", "system.replset"), {find});
}

void add_restore(Privileges& out) {
  add(out, cluster, {forceUUID, getParameter, useUUID, setUserWriteBlockMode, bypassWriteBlockingMode});
  const ActionSet putting_back{bypassDocumentValidation, collMod,        convertToCapped, createCollection, createIndex,
                               createSearchIndexes,      dropCollection, insert,          dropDatabase,     updateSearchIndex};
  ActionSet all = putting_back;
  all.add({changeCustomData, changePassword, createRole, createUser, dropRole, dropUser, grantRole, revokeRole,
           setAuthenticationRestriction, viewRole, viewUser});
  add(out, any_database, all);
  for (const char* db : {"config", "local"}) add(out, names(db), all);
  add(out, names("", "system.js"), putting_back);
  add(out, names("", "system.views"), putting_back);
  add(out, names("", "system.buckets."), putting_back);
  add(out, anything, {listCollections});
  for (const char* collection : admin_collections_of_versions) add(out, names("admin", collection), putting_back);
  for (const char* collection : {"system.users", "system.roles", "system.version"}) {
    add(out, names("admin", collection), putting_back);
    add(out, names("admin", collection), {find, update, remove});
  }
  add(out, names("config", "settings"), {update});
  for (const char* collection : {"tempusers", "temproles"}) add(out, names("admin", collection), {find});
}

void add_root(Privileges& out) {
  add_cluster_admin(out);
  add_user_admin_any(out);
  add_db_admin_any(out);
  add_read_write(out, "");
  add(out, cluster, {listDatabases});
  add(out, any_database, {purge});
  add(out, anything, {validate});
  add(out, names("", "system.views"), writing());
  add_backup(out);
  add_restore(out);
}

bool has(const auto& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

bool is_builtin_role(const Name& role) {
  return has(of_databases, role.name) || (role.db == "admin" && has(of_admin, role.name));
}

std::optional<Privileges> builtin_role(const Name& role) {
  if (!is_builtin_role(role)) return std::nullopt;
  Privileges out;
  const std::string& name = role.name;
  if (name == "read") add_read(out, role.db);
  if (name == "readWrite") add_read_write(out, role.db);
  if (name == "dbAdmin") add_db_admin(out, role.db);
  if (name == "userAdmin") {
    add_user_admin(out, role.db);
    if (role.db == "admin") add(out, cluster, {authSchemaUpgrade, invalidateUserCache, viewRole, viewUser});
  }
  if (name == "dbOwner") add_db_owner(out, role.db);
  if (name == "enableSharding") add(out, any_database, {enableSharding, refineCollectionShardKey, reshardCollection});
  if (name == "readAnyDatabase") {
    add_read(out, "");
    add(out, cluster, {listDatabases});
  }
  if (name == "readWriteAnyDatabase") {
    add_read_write(out, "");
    add(out, cluster, {listDatabases});
  }
  if (name == "userAdminAnyDatabase") add_user_admin_any(out);
  if (name == "dbAdminAnyDatabase") add_db_admin_any(out);
  if (name == "clusterMonitor") add_monitor(out);
  if (name == "hostManager") add_host_manager(out);
  if (name == "clusterManager") add_manager(out);
  if (name == "clusterAdmin") add_cluster_admin(out);
  if (name == "directShardOperations") add(out, cluster, {issueDirectShardOperations});
  if (name == "backup") add_backup(out);
  if (name == "restore") add_restore(out);
  if (name == "root") add_root(out);
  if (name == "__system") add(out, anything, {anyAction});
  return out;
}

std::vector<std::string> builtin_roles_of(std::string_view db) {
  std::vector<std::string> found(of_databases.begin(), of_databases.end());
  if (db == "admin") found.insert(found.end(), of_admin.begin(), of_admin.end());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace server::access
