#include "server/query/branches/states.h"

#include "base/error.h"
#include "bson/builder.h"
#include "bson/keystring.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "storage/store.h"
#include "versions/database/databases.h"

namespace server::query {

std::shared_ptr<versions::BranchedDatabase> branched_database(OperationContext& op, std::string_view db) {
  const std::string_view name = versions::split_name(db).database;
  auto database = op.services().databases->find(name);
  if (!database)
    throw base::OperationError(base::ErrorCode::namespace_not_found, "database '" + std::string(name) + "' has no branches");
  return database;
}

base::Bytes key_of_id(const bson::ValueView& id) {
  bson::KeyString key;
  key.append(id);
  return std::move(key).bytes();
}

std::string hex(const versions::Hash& id) {
  return base::to_hex(versions::view(id));
}

bson::Document describe(storage::Transaction& transaction, const versions::VersionGraph& graph, const versions::Commit& commit) {
  bson::Builder out;
  out.append("commit", hex(commit.id));
  {
    auto parents = out.array("parents");
    for (const versions::CommitNumber parent : commit.parents) parents.append(hex(graph.commit(transaction, parent)->id));
  }
  out.append("time", bson::Date{commit.time_ms}).append_all(bson::DocumentView(commit.metadata));
  if (graph.is_boundary(transaction, commit)) out.append("shallow", true);
  return out.done();
}

States::States(OperationContext& op, std::shared_ptr<versions::BranchedDatabase> database) : database_(std::move(database)) {
  storage::Store& store = *op.services().store;
  if (op.moment)
    transaction_ = std::make_unique<storage::Transaction>(store, *op.moment->snapshot);
  else
    transaction_ = std::make_unique<storage::Transaction>(store, storage::Transaction::Mode::read);
}

versions::View States::view(const versions::SharedCollection& collection, const versions::Place& place) const {
  if (!place.branch) return collection.view_of(*transaction_, place.commit);
  versions::View view = collection.view_of(*transaction_, *place.branch);
  if (!collection.store.has_pending(*transaction_, view.branch)) view.branch = versions::BranchId::none;
  return view;
}

Versioned::Versioned(OperationContext& op, const States& states, std::string_view name)
    : Versioned(states, op.services().store->catalog().open(states.database().name() + "." + std::string(name))) {}

Versioned::Versioned(const States& states, std::shared_ptr<storage::Collection> opened) : collection(std::move(opened)) {
  if (collection) shared = states.database().versions_of(collection->id());
}

}  // namespace server::query
