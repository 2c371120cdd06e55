#include "server/query/reader.h"

#include "base/error.h"
#include "server/core/client_transaction.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server::query {

std::shared_ptr<storage::Collection> open_collection(OperationContext& op, const std::string& ns) {
  auto collection = open_present(op, op.moment ? name_at(op, ns) : ns);
  op.looked_for(collection ? collection->id() : OperationContext::Counts::not_there);
  return collection;
}

std::shared_ptr<storage::Collection> open_present(OperationContext& op, const std::string& ns) {
  if (!op.transaction) return op.services().store->catalog().open(ns);
  const ClientTransaction::Use* const use = op.transaction->open(op, ns);
  return use ? use->collection : nullptr;
}

bson::CollatorPtr collator_for(OperationContext& op, const std::string& ns, const bson::GivenCollation& given) {
  if (given) return *given;
  const auto collection = open_present(op, op.moment ? name_at(op, ns) : ns);
  return collection ? collection->options().collator : nullptr;
}

namespace {

// A view on a branch has its own name for good, but the collection that it shows may be renamed.
std::string stored_name(const storage::Collection& collection) {
  const auto home = collection.home();
  return home ? home->ns() : collection.ns();
}

std::string uuid_text(const storage::Collection& collection) {
  std::string text = base::to_hex(collection.uuid_bytes());
  for (const size_t dash : {20, 16, 12, 8}) text.insert(dash, "-");
  return text;
}

}  // namespace

Reader::Reader(OperationContext& op, std::shared_ptr<storage::Collection> collection, std::string ns, const Query& query,
               Allowance* whole)
    : op_(&op), collection_(std::move(collection)), ns_(std::move(ns)), drafted_(op.transaction != nullptr) {
  const std::string name = op.moment && !drafted_ ? name_at(op, ns_) : ns_;
  open();
  // Between the look-up and the lock the collection may have been dropped or renamed, and another one may have its name.
  while (!drafted_ && collection_ && (collection_->dropped() || collection_->ns() != name)) {
    close();
    op.check_interrupt();
    collection_ = open_present(op, name);
    open();
  }
  if (collection_) opened_as_ = stored_name(*collection_);
  keeps_transaction_ = drafted_ || (collection_ && collection_->moves());
  executor_ = make_executor(op, *transaction_, collection_, query, whole);
}

Reader::~Reader() {
  // The stages hold cursors of the transaction, so they are destroyed first.
  executor_.reset();
  close();
}

void Reader::open() {
  if (drafted_) {
    transaction_ = op_->transaction->draft();
    return;
  }
  if (collection_) schema_ = SchemaHold(*op_, collection_->schema_mutex(), SchemaHold::Intent::read);
  storage::Store& store = *op_->services().store;
  if (op_->moment && !op_->moment->is_declared())
    transaction_ = std::make_shared<storage::Transaction>(store, *op_->moment->snapshot);
  else
    transaction_ = std::make_shared<storage::Transaction>(store, storage::Transaction::Mode::read);
}

void Reader::close() {
  transaction_.reset();
  schema_.release();
}

void Reader::lock() {
  if (drafted_) return;
  schema_ = SchemaHold(*op_, collection_->schema_mutex(), SchemaHold::Intent::read);
  if (collection_->dropped()) throw base::OperationError(base::ErrorCode::query_plan_killed, "collection dropped: '" + ns_ + "'");
  check_name();
}

// Throws QueryPlanKilled if the collection was renamed: a user who may read it by its old name may lack the right for its new
// one.
void Reader::check_name() const {
  if (drafted_ || !collection_) return;
  const std::string now = stored_name(*collection_);
  if (now == opened_as_) return;
  throw base::OperationError(base::ErrorCode::query_plan_killed,
                             "collection renamed from '" + opened_as_ + "' to '" + now + "'. UUID " + uuid_text(*collection_));
}

bool Reader::next() {
  for (;;) {
    switch (executor_->step()) {
      case Executor::Step::advanced: return true;
      case Executor::Step::end: return false;
      case Executor::Step::pause:
        ++op_->counts.yields;
        if (keeps_transaction_) {
          transaction_->let_go_of_pages();
          schema_.release();
          lock();
          break;
        }
        executor_->save();
        close();
        open();
        check_name();
        executor_->restore(*transaction_);
    }
  }
}

void Reader::end() {
  if (keeps_transaction_) {
    executor_->detach();
    transaction_->let_go_of_pages();
    schema_.release();
    op_ = nullptr;
    return;
  }
  executor_->save();
  executor_->detach();
  close();
  op_ = nullptr;
}

void Reader::begin(OperationContext& op) {
  op_ = &op;
  op.looked_for(collection_ ? collection_->id() : OperationContext::Counts::not_there);
  if (keeps_transaction_) {
    lock();
    executor_->attach(op);
    return;
  }
  open();
  check_name();
  executor_->attach(op);
  executor_->restore(*transaction_);
}

}  // namespace server::query
