#include "server/write/import_limits.h"

#include "server/core/operation.h"
#include "server/core/parameters.h"
#include "server/core/services.h"

namespace server::write {

namespace {

constexpr const char* parameter_name = "commitImportMemoryBytes";

}  // namespace

void ImportLimits::add_to(ServerParameters& parameters) {
  parameters.add_integer(parameter_name, bytes, {.min = 1 << 20});
}

int64_t import_bytes_max(const OperationContext& op) {
  const ServerParameters::Parameter* parameter = op.services().parameters.find(parameter_name);
  return parameter ? parameter->get().view().to_int64() : int64_t{256} << 20;
}

}  // namespace server::write
