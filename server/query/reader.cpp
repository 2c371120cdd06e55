#include "server/query/reader.h"

#include "base/error.h"
#include "server/operation.h"
#include "server/services.h"
#include "storage/catalog.h"
#include "storage/engine.h"

namespace server::query {

std::shared_ptr<storage::Collection> open_collection(const OperationContext& op, const std::string& ns) {
  const storage::Catalog& catalog = op.services().engine->catalog();
  return op.moment ? catalog.open(name_at(op, ns)) : catalog.open(ns);
}

Reader::Reader(OperationContext& op, std::shared_ptr<storage::Collection> collection, std::string ns, const Query& query)
    : op_(&op), collection_(std::move(collection)), ns_(std::move(ns)) {
  open();
  // Dropped between being found and being locked: not there.
  if (collection_ && collection_->dropped()) {
    close();
    collection_ = nullptr;
    open();
  }
  keeps_transaction_ = collection_ && collection_->moves();
  executor_ = make_executor(op, *transaction_, collection_, query);
}

Reader::~Reader() {
  // Its stages hold cursors of the transaction: they go first.
  executor_.reset();
  close();
}

void Reader::open() {
  if (collection_) schema_ = std::shared_lock(collection_->schema_mutex());
  storage::Engine& engine = *op_->services().engine;
  if (op_->moment && !op_->moment->is_declared()) transaction_ = std::make_unique<storage::Transaction>(engine, *op_->moment->snapshot);
  else transaction_ = std::make_unique<storage::Transaction>(engine, storage::Transaction::Mode::read);
}

void Reader::close() {
  transaction_.reset();
  if (schema_.owns_lock()) schema_.unlock();
}

void Reader::lock() {
  schema_ = std::shared_lock(collection_->schema_mutex());
  if (collection_->dropped()) throw base::OperationError(base::ErrorCode::query_plan_killed, "collection dropped: '" + ns_ + "'");
}

bool Reader::next() {
  for (;;) {
    switch (executor_->step()) {
      case Executor::Step::advanced: return true;
      case Executor::Step::end: return false;
      case Executor::Step::pause:
        if (keeps_transaction_) {
          transaction_->let_go_of_pages();
          schema_.unlock();
          lock();
          break;
        }
        executor_->save();
        close();
        open();
        executor_->restore(*transaction_);
    }
  }
}

void Reader::end() {
  if (keeps_transaction_) {
    executor_->detach();
    transaction_->let_go_of_pages();
    if (schema_.owns_lock()) schema_.unlock();
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
  if (keeps_transaction_) {
    lock();
    executor_->attach(op);
    return;
  }
  open();
  executor_->attach(op);
  executor_->restore(*transaction_);
}

}  // namespace server::query
