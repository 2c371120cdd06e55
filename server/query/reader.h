// An executor with the read transactions it needs, one after the other: what
// find, getMore, count, distinct and pipelines read through.
#pragma once

#include <memory>
#include "server/core/schema_hold.h"
#include "server/query/executor.h"

namespace server::query {

// As of the operation's moment; nullptr: no such collection.
std::shared_ptr<storage::Collection> open_collection(OperationContext& op, const std::string& ns);

// Between begin and end (of a batch, say) it holds a transaction and the schema
// lock, and renews both at every pause. Where documents move when they change
// (storage::Collection::moves) it keeps the transaction to its own end: what it
// shows is as of one moment. May move between threads while ended.
class Reader {
 public:
  // Begins: plans the query and stands before the first document.
  Reader(OperationContext& op, std::shared_ptr<storage::Collection> collection, std::string ns, const Query& query);
  ~Reader();

  bool next();
  bson::DocumentView document() { return executor_->document(); }
  storage::RecordId record() const { return executor_->record(); }

  // Lets transaction and lock go; `begin` goes on with a later snapshot.
  void end();
  void begin(OperationContext& op);

  Executor& executor() { return *executor_; }
  const Executor& executor() const { return *executor_; }
  const std::string& ns() const { return ns_; }
  const std::shared_ptr<storage::Collection>& collection() const { return collection_; }

 private:
  void open();
  void close();
  void lock();  // throws QueryPlanKilled where the collection is gone

  OperationContext* op_;
  std::shared_ptr<storage::Collection> collection_;
  std::string ns_;
  SchemaHold schema_;
  std::unique_ptr<storage::Transaction> transaction_;
  std::unique_ptr<Executor> executor_;
  bool keeps_transaction_ = false;
};

}  // namespace server::query
