// setIndexCommitQuorum changes how many members must have built an index before createIndexes is answered.
//
// A build commits with the entry of the log that says so, and its quorum is only awaited afterwards. So the quorum of a running
// build can't be changed here; the command says whether there is such a build.
#include <algorithm>

#include "base/error.h"
#include "server/commands/catalog/commit_quorum.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/write/namespaces.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

std::vector<std::string> names_of(const Arguments& arguments) {
  std::vector<std::string> names;
  for (const bson::Element& name : arguments.required_array("indexNames")) {
    if (!name.is_string()) {
      throw OperationError(ErrorCode::type_mismatch, "BSON field '" + arguments.dotted("indexNames") + "." +
                                                         std::string(name.name) + "' is the wrong type '" +
                                                         std::string(bson::type_name(name.type())) + "', expected type 'string'");
    }
    names.emplace_back(name.as_string());
  }
  return names;
}

bool is_building(const storage::Collection& collection, const std::vector<std::string>& names) {
  return std::ranges::all_of(names, [&](const std::string& name) {
    const auto index = collection.index(name);
    return index && !index->ready();
  });
}

class SetIndexCommitQuorum final : public Command {
 public:
  std::string_view name() const override { return "setIndexCommitQuorum"; }
  std::string_view help() const override { return "Resets the commitQuorum for the given index builds in a collection."; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"indexNames", "commitQuorum"};
    return names;
  }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Arguments arguments(request);
    const auto names = names_of(arguments);
    if (!arguments.any("commitQuorum").exists()) {
      throw OperationError(40414, "BSON field '" + arguments.dotted("commitQuorum") + "' is missing but a required field");
    }
    (void)parse_commit_quorum(op, arguments.any("commitQuorum"));
    const std::string ns = request.ns();
    write::check_writable(ns);
    if (names.empty()) {
      throw OperationError(ErrorCode::index_not_found, "Cannot set a new commit quorum on an index build in collection '" + ns +
                                                           "' without providing any indexes.");
    }
    const auto collection = write::store_of(op).catalog().find(ns);
    if (!collection) throw OperationError(ErrorCode::namespace_not_found, "Collection '" + ns + "' was not found.");
    if (!is_building(*collection, names)) {
      throw OperationError(ErrorCode::index_not_found,
                           "Cannot find an index build on collection '" + ns + "' with the provided index names");
    }
    throw OperationError(ErrorCode::command_failed,
                         "Commit quorum can't be changed: an index build commits with its entry in the log, before its commit "
                         "quorum is awaited");
  }
};

}  // namespace

std::unique_ptr<Command> make_set_index_commit_quorum_command() {
  return std::make_unique<SetIndexCommitQuorum>();
}

}  // namespace server
