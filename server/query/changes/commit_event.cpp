#include "server/query/changes/commit_event.h"

#include "base/bytes.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/branches/differences.h"
#include "server/query/branches/states.h"
#include "versions/database/databases.h"

namespace server::query {

using bson::DocumentView;

namespace {

struct Size {
  int64_t inserted = 0, updated = 0, deleted = 0;
};

Size size_of(OperationContext& op, const std::shared_ptr<versions::BranchedDatabase>& database, const std::string& parent,
             const std::string& commit) {
  Size size;
  Differences differences(op, database,
                          {.from = versions::parse_ref(parent), .to = versions::parse_ref(commit), .collection = std::nullopt},
                          op.allowance());
  differences.begin(op);
  while (differences.next()) {
    const std::string_view change = differences.document()["change"].as_string();
    ++(change == "insert" ? size.inserted : change == "update" ? size.updated : size.deleted);
  }
  differences.end();
  return size;
}

}  // namespace

std::string_view branch_of_commit(DocumentView command) {
  if (command.empty()) return {};
  const bson::Element first = command.first();
  return (first.name == "commit" || first.name == "merge") && first.is_string() ? first.as_string() : std::string_view();
}

std::string_view type_of_commit(DocumentView command) {
  return command.first().name == "merge" && command["parents"].is_number() && command["parents"].to_int64() == 2 ? "merge"
                                                                                                                 : "commit";
}

void append_commit(OperationContext& op, std::string_view home, DocumentView command, bson::Builder& out) {
  out.append("branch", branch_of_commit(command));
  const auto id = command["id"];
  const std::string commit = id.type() == bson::Type::binary ? base::to_hex(id.as_binary().bytes) : std::string();
  const auto database = op.services().databases->find(home);
  std::string parent;
  bool described = false;
  if (database && !commit.empty()) {
    const States states(op, database);
    const versions::VersionGraph& graph = states.branches().graph();
    if (const auto number = graph.find(states.transaction(), commit)) {
      const auto found = graph.commit(states.transaction(), *number);
      out.append_all(describe(states.transaction(), graph, *found).view());
      if (!found->parents.empty()) parent = hex(graph.commit(states.transaction(), found->parents.front())->id);
      described = true;
    }
  }
  if (!described) {
    out.append("commit", commit).append("time", static_cast<bson::ValueView>(command["time"]));
    if (command["metadata"].type() == bson::Type::binary) out.append_all(DocumentView(command["metadata"].as_binary().bytes));
    return;
  }
  if (parent.empty()) return;
  const Size size = size_of(op, database, parent, commit);
  bson::Builder difference = out.object("difference");
  difference.append("inserted", size.inserted).append("updated", size.updated).append("deleted", size.deleted);
}

}  // namespace server::query
