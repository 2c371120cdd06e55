// renameCollection gives a collection another name, or moves it to another
// database.
#include "base/error.h"
#include "server/commands/shared/collection_options.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/names.h"
#include "server/core/operation.h"
#include "server/query/views.h"
#include "server/write/namespaces.h"
#include "server/write/replacement.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

void check_name(std::string_view ns) {
  const bool dotted = ns.find('.') != ns.npos;
  if (dotted && valid_database_name(write::database_of(ns)) && valid_collection_name(write::collection_of(ns))) return;
  throw OperationError(ErrorCode::invalid_namespace, "Invalid namespace specified '" + std::string(ns) + "'");
}

class RenameCollection : public Command {
 public:
  std::string_view name() const override { return "renameCollection"; }
  std::string_view help() const override { return " example: { renameCollection: foo.a, to: bar.b }"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"to", "dropTarget", "stayTemp", "collectionUUID"};
    return names;
  }
  bool writes() const override { return true; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Arguments arguments(request);
    const std::string from(arguments.required_string("renameCollection"));
    const std::string to(arguments.required_string("to"));
    // The UUID of the collection that may be dropped stands for true.
    const bson::Element target = arguments.any("dropTarget");
    const bool by_uuid = target.type() == bson::Type::binary;
    const bool drop_target = by_uuid || arguments.loose_boolean("dropTarget").value_or(false);
    check_name(from);
    check_name(to);
    write::check_renamable(from, to);
    if (from == to) throw OperationError(ErrorCode::illegal_operation, "Can't rename a collection to itself");
    check_collection_uuid(op, arguments.any("collectionUUID"), from);
    if (by_uuid) check_collection_uuid(op, target, to);
    storage::Catalog& catalog = write::store_of(op).catalog();
    if (query::find_view(op, from)) throw OperationError(ErrorCode::command_not_supported_on_view, "cannot rename view: " + from);
    if (query::find_view(op, to))
      throw OperationError(ErrorCode::namespace_exists, "a view already exists with that name: " + to);
    const auto source = catalog.find(from);
    const bool capped = source && source->options().capped;  // a capped collection has no branches
    if (!capped && write::database_of(from) == write::database_of(to) && write::Replacement::applies(op, to))
      return write::rename_on_branch(op, from, to, drop_target);
    catalog.rename(from, to, drop_target, nullptr, {.interrupted = op.interrupted()});
  }
};

}  // namespace

std::unique_ptr<Command> make_rename_collection_command() {
  return std::make_unique<RenameCollection>();
}

}  // namespace server
