// The rules of commands that look after the server.
#include "server/dispatch/rules/rules.h"

namespace server::rules {
namespace {

using enum Action;

bool on_server(const Asker& asker) {
  return asker.cluster({serverStatus});
}

bool sees_operations(const Asker& asker) {
  return asker.request().body.find("$ownOps").truthy() || asker.cluster({inprog});
}

bool sizes_data(const Asker& asker) {
  return asker.ns(asker.named(), {find});
}

bool profiles(const Asker& asker) {
  const auto level = asker.request().body.first();
  const bool looks = level.is_number() && level.to_int64() < 0;
  return (asker.database({enableProfiler}) && asker.base({enableProfiler})) ||
         (looks && asker.collection(asker.request().db, "system.profile", {find}));
}

bool validates_metadata(const Asker& asker) {
  const std::string_view db = asker.text("db");
  return asker.database(db, {validate});  // none: all databases
}

constexpr NamedRule list[] = {
    {"buildInfo", anybody},
    {"collStats", [](const Asker& asker) { return asker.target({collStats}); }},
    {"configureFailPoint", [](const Asker& asker) { return asker.cluster({setParameter}); }},
    {"connPoolStats", [](const Asker& asker) { return asker.cluster({connPoolStats}); }},
    {"connPoolSync", [](const Asker& asker) { return asker.cluster({connPoolSync}); }},
    {"connectionStatus", anybody},
    {"createBackup", [](const Asker& asker) { return asker.cluster({createBackup}); }},  // it reads all that there is
    {"currentOp", sees_operations},
    {"dataSize", sizes_data},
    {"dbHash", [](const Asker& asker) { return asker.database({dbHash}); }},
    {"dbStats", [](const Asker& asker) { return asker.database({dbStats}); }},
    {"driverOIDTest", anybody},
    {"features", anybody},
    {"fsync", [](const Asker& asker) { return asker.cluster({fsync}); }},
    {"fsyncUnlock", [](const Asker& asker) { return asker.cluster({unlock}); }},
    {"getCmdLineOpts", [](const Asker& asker) { return asker.cluster({getCmdLineOpts}); }},
    {"getDiagnosticData",
     [](const Asker& asker) {
       return asker.cluster({serverStatus, replSetGetStatus}) && asker.collection("local", "oplog.rs", {collStats});
     }},
    {"getLog", [](const Asker& asker) { return asker.cluster({getLog}); }},
    {"getParameter", [](const Asker& asker) { return asker.cluster({getParameter}); }},
    {"hostInfo", [](const Asker& asker) { return asker.cluster({hostInfo}); }},
    {"killOp", anybody},  // it looks at whose operation it is
    {"listCommands", anybody},
    {"lockInfo", on_server},
    {"logRotate", [](const Asker& asker) { return asker.cluster({logRotate}); }},
    {"ping", anybody},
    {"profile", profiles},
    {"serverStatus", on_server},
    {"setParameter", [](const Asker& asker) { return asker.cluster({setParameter}); }},
    {"shutdown", [](const Asker& asker) { return asker.cluster({shutdown}); }},
    {"top", [](const Asker& asker) { return asker.cluster({top}); }},
    {"validate", [](const Asker& asker) { return asker.shared_target({validate}); }},
    {"validateDBMetadata", validates_metadata},
    {"whatsmyuri", anybody},
};

}  // namespace

std::span<const NamedRule> diagnostics_rules() {
  return list;
}

}  // namespace server::rules
