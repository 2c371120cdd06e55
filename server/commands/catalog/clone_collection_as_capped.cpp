// cloneCollectionAsCapped makes a capped collection with the newest documents of another one.
#include "base/error.h"
#include "server/commands/catalog/capped_size_argument.h"
#include "server/core/command.h"
#include "server/core/names.h"
#include "server/write/capped_copy.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

// `what` is "source" or "target".
std::string name_in(const Request& request, std::string_view field, std::string_view what) {
  const auto value = request.body.find(field);
  if (!value.is_string()) throw OperationError(ErrorCode::type_mismatch, "'" + std::string(field) + "' must be of type String");
  const std::string name(value.as_string());
  if (!valid_collection_name(name))
    throw OperationError(ErrorCode::invalid_namespace, "Invalid " + std::string(what) + " collection name: " + name);
  return name;
}

class CloneCollectionAsCapped : public Command {
 public:
  std::string_view name() const override { return "cloneCollectionAsCapped"; }
  std::string_view help() const override {
    return "{ cloneCollectionAsCapped:<fromName>, toCollection:<toName>, size:<sizeInBytes> }";
  }
  bool writes() const override { return true; }
  bool may_take_collection() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const std::string from = name_in(request, "cloneCollectionAsCapped", "source");
    const std::string to = name_in(request, "toCollection", "target");
    write::clone_as_capped(op, request.db + "." + from, request.db + "." + to, capped_size_argument(request));
  }
};

}  // namespace

std::unique_ptr<Command> make_clone_collection_as_capped_command() {
  return std::make_unique<CloneCollectionAsCapped>();
}

}  // namespace server
