#include "server/core/stable_api.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/error.h"
#include "server/core/command.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

struct Field {
  std::string_view command;
  std::string_view name;
};

constexpr Field fields[] = {
    {"aggregate", "explain"},
    {"create", "autoIndexId"},
    {"create", "capped"},
    {"create", "commits"},
    {"create", "dedup"},
    {"create", "flags"},
    {"create", "indexOptionDefaults"},
    {"create", "max"},
    {"create", "size"},
    {"create", "storageEngine"},
    {"create", "temp"},
    {"find", "awaitData"},
    {"find", "collectionUUID"},
    {"find", "max"},
    {"find", "min"},
    {"find", "noCursorTimeout"},
    {"find", "oplogReplay"},
    {"find", "readOnce"},
    {"find", "returnKey"},
    {"find", "showRecordId"},
    {"find", "tailable"},
    {"find", "term"},
};

constexpr std::string_view stages[] = {
    "$acrossBranches",    "$acrossSnapshots", "$currentOp",      "$diff",   "$history",    "$indexStats",  "$listLocalSessions",
    "$listSearchIndexes", "$listSessions",    "$planCacheStats", "$search", "$searchMeta", "$vectorSearch"};

}  // namespace

void check_stable_field(const Command& command, std::string_view name) {
  const auto found = std::find_if(std::begin(fields), std::end(fields),
                                  [&](const Field& field) { return field.command == command.name() && field.name == name; });
  if (found == std::end(fields)) return;
  throw OperationError(ErrorCode::api_strict_error, "BSON field '" + std::string(command.parser_name()) + "." +
                                                        std::string(name) + "' is not allowed with apiStrict:true.");
}

void check_stable_stage(const bson::Element& stage) {
  if (std::find(std::begin(stages), std::end(stages), stage.name) != std::end(stages)) {
    throw OperationError(ErrorCode::api_strict_error,
                         std::string(stage.name) + " is not allowed with 'apiStrict: true' in API Version 1");
  }
  if (stage.name != "$collStats" || !stage.is_object()) return;
  for (const char* option : {"latencyStats", "queryExecStats", "storageStats"}) {
    if (stage.as_document().has(option)) {
      throw OperationError(ErrorCode::api_strict_error, "only the 'count' option to $collStats is supported in API Version 1");
    }
  }
}

}  // namespace server
