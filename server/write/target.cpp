#include "server/write/target.h"

#include "base/error.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/views.h"
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
  query::require_no_view(op, std::string(ns));
}

namespace {

void check_in_transaction(const storage::Collection& collection, const std::string& ns) {
  if (query::is_buckets(ns)) {
    throw base::OperationError(base::ErrorCode::operation_not_supported_in_transaction,
                               "Cannot write to the buckets of a time-series collection in a multi-document transaction: " + ns);
  }
  if (!collection.options().capped) return;
  throw base::OperationError(
      base::ErrorCode::operation_not_supported_in_transaction,
      "Collection '" + ns + "' is a capped collection. Writes in transactions are not allowed on capped collections.");
}

}  // namespace

Target Target::in_transaction(OperationContext& op, ClientTransaction::Use* use) {
  Target target;
  if (!use) return target;
  check_writable(*use->collection);
  check_in_transaction(*use->collection, use->ns);
  target.collection_ = use->collection;
  target.use_ = use;
  op.looked_for(target.collection_->id());
  return target;
}

Target Target::open(OperationContext& op, std::string_view ns) {
  if (!op.transaction) return open_anew(op, ns);
  if (op.moment && op.moment->is_declared())
    throw base::OperationError(base::ErrorCode::illegal_operation, "a transaction at a declared snapshot is read-only");
  ClientTransaction::Use* const use = op.transaction->open(op, std::string(ns));
  if (!use) check_writable(op, ns);
  return in_transaction(op, use);
}

Target Target::open_anew(OperationContext& op, std::string_view ns) {
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
    // Another branch may have the collection, and this one a view of its name.
    if (target.collection_->moves() && !catalog.find(ns)) check_writable(op, ns);
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
  if (query::is_buckets(ns) && !query::series_of_buckets(op, std::string(ns))) {
    throw base::OperationError(base::ErrorCode::invalid_namespace, "Invalid system namespace: " + std::string(ns));
  }
  if (op.transaction) {
    if (Target target = open(op, ns)) return target;
    return in_transaction(op, &op.transaction->create(op, std::string(ns), {}));
  }
  for (;;) {
    if (Target target = open(op, ns)) return target;
    op.check_interrupt();
    store_of(op).catalog().open_or_create(ns, {.interrupted = op.interrupted()});
  }
}

}  // namespace server::write
