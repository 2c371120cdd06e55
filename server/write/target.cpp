#include "server/write/target.h"

#include "base/error.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/write/namespaces.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"
#include "versions/database/databases.h"

namespace server::write {

storage::Store& store_of(OperationContext& op) {
  storage::Store* store = op.services().store;
  if (!store) throw base::OperationError(base::ErrorCode::illegal_operation, "this server has no storage");
  return *store;
}

void check_writable(const storage::Collection& collection) {
  if (!collection.read_only()) return;
  const std::string ns = collection.ns();
  const std::string why(collection.read_only_because());
  if (!why.empty()) throw base::OperationError(base::ErrorCode::illegal_operation, "cannot write to " + ns + ": " + why);
  throw base::OperationError(base::ErrorCode::invalid_namespace, "cannot write to " + ns);
}

void check_writable(OperationContext& op, std::string_view ns) {
  versions::Databases* const databases = op.services().databases;
  if (databases && database_of(ns).find('@') != ns.npos) databases->home(ns);
}

Target Target::open(OperationContext& op, std::string_view ns) {
  storage::Catalog& catalog = store_of(op).catalog();
  for (;;) {
    Target target;
    target.collection_ = catalog.open(ns);
    if (!target.collection_) {
      check_writable(op, ns);
      return target;
    }
    target.schema_ = SchemaHold(op, target.collection_->schema_mutex(), SchemaHold::Intent::write);
    // Between the look-up and the lock, the collection may have been dropped or renamed.
    if (target.collection_->dropped() || target.collection_->ns() != ns) continue;
    check_writable(*target.collection_);
    op.looked_for(target.collection_->id());
    return target;
  }
}

Target Target::held(std::shared_ptr<storage::Collection> collection) {
  Target target;
  target.collection_ = std::move(collection);
  return target;
}

Target Target::open_or_create(OperationContext& op, std::string_view ns) {
  for (;;) {
    if (Target target = open(op, ns)) return target;
    op.check_interrupt();
    store_of(op).catalog().open_or_create(ns, {.interrupted = op.interrupted()});
  }
}

}  // namespace server::write
