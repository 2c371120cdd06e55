// convertToCapped turns a collection into a capped one, in place.
#include "base/error.h"
#include "server/commands/catalog/capped_size_argument.h"
#include "server/core/command.h"
#include "server/write/capped_copy.h"

namespace server {
namespace {

class ConvertToCapped : public Command {
 public:
  std::string_view name() const override { return "convertToCapped"; }
  std::string_view help() const override { return "{ convertToCapped:<fromCollectionName>, size:<sizeInBytes> }"; }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    write::convert_to_capped(op, request.ns(), capped_size_argument(request));
  }
};

}  // namespace

std::unique_ptr<Command> make_convert_to_capped_command() {
  return std::make_unique<ConvertToCapped>();
}

}  // namespace server
