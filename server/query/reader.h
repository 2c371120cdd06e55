// A Reader is an executor with the read transactions that it needs, one after the
// other: find, getMore, count, distinct and pipelines read through it.
#pragma once

#include <memory>
#include "server/core/schema_hold.h"
#include "server/query/executor.h"

namespace server::query {

// Opens the collection as of the operation's moment; nullptr: there is no such collection.
std::shared_ptr<storage::Collection> open_collection(OperationContext& op, const std::string& ns);
// Opens the collection as it is now, or as the operation's transaction sees it; nullptr: there is no such collection.
std::shared_ptr<storage::Collection> open_present(OperationContext& op, const std::string& ns);

// Returns the collation of an operation on a collection: the one that it was given, or else the collection's.
bson::CollatorPtr collator_for(OperationContext& op, const std::string& ns, const bson::GivenCollation& given);

// Between begin and end (of a batch, say) it holds a transaction and the schema lock, and renews both at every pause. If
// documents move when they change (storage::Collection::moves) it keeps the transaction to its own end, so that it shows one
// moment. It may move between threads while ended. In a client's transaction it reads from that one's draft, which holds the
// locks too.
class Reader {
 public:
  // Begins: plans the query and stands before the first document. If the collection was dropped or renamed before the schema
  // lock was had, the reader takes the one that has the name now. `whole`: the reader is a part of that computation, which lives
  // longer; nullptr: it is one of its own.
  Reader(OperationContext& op, std::shared_ptr<storage::Collection> collection, std::string ns, const Query& query,
         Allowance* whole = nullptr);
  ~Reader();

  bool next();
  bson::DocumentView document() { return executor_->document(); }
  storage::RecordId record() const { return executor_->record(); }

  // Releases transaction and lock; `begin` continues with a later storage snapshot.
  void end();
  void begin(OperationContext& op);

  Executor& executor() { return *executor_; }
  const Executor& executor() const { return *executor_; }
  const std::string& ns() const { return ns_; }
  const std::shared_ptr<storage::Collection>& collection() const { return collection_; }

 private:
  void open();
  void close();
  void lock();              // throws QueryPlanKilled if the collection is gone or renamed
  void check_name() const;  // throws QueryPlanKilled if the collection is renamed

  OperationContext* op_;
  std::shared_ptr<storage::Collection> collection_;
  std::string ns_;
  std::string opened_as_;  // the name that the collection had in the catalog when the reader began
  SchemaHold schema_;
  std::shared_ptr<storage::Transaction> transaction_;
  std::unique_ptr<Executor> executor_;
  const bool drafted_;  // the transaction is the draft of a client's
  bool keeps_transaction_ = false;
};

}  // namespace server::query
