#include "server/assembly/repair.h"

#include "base/error.h"
#include "base/log.h"
#include "bson/builder.h"
#include "replication/local_document.h"
#include "replication/repair_mark.h"
#include "server/assembly/assembly.h"
#include "server/core/services.h"
#include "storage/collections/catalog.h"
#include "storage/engine/names.h"
#include "storage/store.h"
#include "storage/upkeep/repair.h"
#include "versions/past/past.h"

namespace server {
namespace {

using base::Attributes;
using base::LogComponent;
using base::Severity;

void log_lines(const std::string& ns, bson::DocumentView reply, std::string_view name, Severity severity) {
  for (const auto& line : reply[name].as_document()) {
    base::log(severity, LogComponent::storage, 7100061, "Repair of a collection",
              Attributes().add("namespace", ns).add(name == "errors" ? "error" : "warning", line.as_string()));
  }
}

bool repair(Assembly& assembly, const std::string& db, const std::string& name) {
  const std::string ns = db + "." + name;
  bson::Builder command;
  command.append("validate", name).append("full", true).append("repair", true);
  const bson::Document reply = assembly.run(db, command.done());
  if (!reply["ok"].truthy()) {
    base::log(Severity::error, LogComponent::storage, 7100062, "A collection can't be repaired",
              Attributes().add("namespace", ns).add("error", reply["errmsg"].as_string()));
    return false;
  }
  const bool valid = reply["valid"].truthy();
  log_lines(ns, reply, "warnings", Severity::warning);
  log_lines(ns, reply, "errors", Severity::error);
  base::log(valid ? Severity::info : Severity::error, LogComponent::storage, 7100063, "Validated and repaired a collection",
            Attributes().add("namespace", ns).add("valid", valid).add("repaired", reply["repaired"].truthy()));
  return valid;
}

void repair_past(storage::Store& store, versions::past::Past* past) {
  if (!past) return;
  replication::RepairMark mark(store);
  const std::vector<std::string> lines = past->repair(nullptr);
  for (const std::string& line : lines) {
    base::log(Severity::warning, LogComponent::storage, 7100069, "Repair of what snapshots show",
              Attributes().add("warning", line));
  }
  if (lines.empty()) mark.take_back();
}

}  // namespace

bool repair_collections(Assembly& assembly) {
  storage::Store& store = *assembly.services().store;
  repair_past(store, assembly.services().past);
  if (!replication::was_member(store)) {
    storage::forget_salvage(store);
  } else {
    // Its own configuration has a copy, which a repair knows nothing of.
    try {
      replication::LocalDocument(store, replication::set_config_ns);
    } catch (const base::OperationError& damage) {
      base::log(Severity::error, LogComponent::storage, 7100062, "A collection can't be repaired",
                Attributes().add("namespace", replication::set_config_ns).add("error", damage.what()));
    }
  }
  const storage::Catalog& catalog = store.catalog();
  bool valid = true;
  for (const std::string& db : catalog.databases()) {
    for (const auto& collection : catalog.collections(db)) {
      if (!collection->read_only()) valid &= repair(assembly, db, std::string(storage::collection_of(collection->ns())));
    }
  }
  base::log(Severity::info, LogComponent::control, 7100064, "Finished repair", Attributes().add("valid", valid));
  return valid;
}

}  // namespace server
