#include "storage/engine/engine_option.h"

#include <string>

#include "base/error.h"

namespace storage {

void check_engine_option(bson::DocumentView storage_engine) {
  const auto refuse = [](const std::string& why) { throw base::OperationError(base::ErrorCode::invalid_options, why); };
  for (const auto& engine : storage_engine) {
    const std::string name(engine.name);
    if (!engine.is_object()) refuse("'storageEngine." + name + "' has to be an embedded document.");
    if (name != "wiredTiger") refuse(name + " is not a registered storage engine for this server");
    for (const auto& setting : engine.as_document()) {
      const bool empty = setting.name == "configString" && setting.is_string() && setting.as_string().empty();
      if (!empty) refuse("'storageEngine.wiredTiger." + std::string(setting.name) + "' is not supported");
    }
  }
}

}  // namespace storage
