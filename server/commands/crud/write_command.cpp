#include "server/commands/crud/write_command.h"

#include "base/error.h"
#include "server/commands/shared/collection_options.h"
#include "server/core/arguments.h"
#include "server/write/namespaces.h"

namespace server {

namespace {
constexpr size_t statements_max = 100'000;
}

std::vector<bson::DocumentView> statements_of(const Request& request, std::string_view field) {
  if (!request.sequence(field)) Arguments(std::string(request.command), request.body).required_array(field);
  auto statements = request.documents(field);
  if (statements.empty() || statements.size() > statements_max) {
    throw base::OperationError(base::ErrorCode::invalid_length, "Write batch sizes must be between 1 and " +
                                                                    std::to_string(statements_max) + ". Got " +
                                                                    std::to_string(statements.size()) + " operations.");
  }
  return statements;
}

std::string write_namespace(OperationContext& op, const Request& request) {
  std::string ns = request.ns();
  write::check_writable(ns);
  check_collection_uuid(op, request.body.find("collectionUUID"), ns);
  return ns;
}

}  // namespace server
