#include "server/query/query_parameters.h"

#include "server/core/operation.h"
#include "server/core/parameters.h"
#include "server/core/services.h"

namespace server::query {
namespace {

constexpr const char* no_scans = "notablescan";
constexpr const char* disk_use = "allowDiskUseByDefault";

bool value_of(const OperationContext& op, const char* name, bool otherwise) {
  const ServerParameters::Parameter* parameter = op.services().parameters.find(name);
  return parameter ? parameter->get().view().truthy() : otherwise;
}

}  // namespace

void QueryParameters::add_to(ServerParameters& parameters) {
  parameters.add_boolean(no_scans, refuses_scans);
  parameters.add_boolean(disk_use, disk_use_by_default);
}

bool refuses_scans(const OperationContext& op) {
  return value_of(op, no_scans, false);
}

bool uses_disk_by_default(const OperationContext& op) {
  return value_of(op, disk_use, true);
}

}  // namespace server::query
