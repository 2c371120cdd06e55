// An executor is a query, planned and running: it returns one matching document
// after another.
//
//   auto executor = make_executor(op, transaction, collection, query);
//   while (executor->next()) use(executor->record(), executor->document());
//
// The executor borrows the transaction. A long one releases it in between: save(),
// then restore() with a fresh transaction (a newer storage snapshot); documents
// removed meanwhile are skipped. `step` says when that is due, every 128 units of
// work or 10 ms; `Reader` (reader.h) does all of it for readers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bson/builder.h"
#include "bson/document.h"
#include "server/query/query.h"
#include "storage/collections/collection.h"
#include "storage/engine/transaction.h"

namespace server {
class Allowance;
class OperationContext;
}  // namespace server

namespace server::query {

class Matcher;

class Executor {
 public:
  enum class Step { advanced, pause, end };

  // make_executor makes it.
  struct Plan;
  explicit Executor(std::unique_ptr<Plan> plan);
  ~Executor();

  // Goes to the next document; `pause`: nothing happened, and it is a good moment to renew the transaction. Checks for
  // interrupts. Throws QueryExceededMemoryLimitNoDiskUseAllowed …
  Step step();
  // Does the same without pauses, for callers that stay in one transaction.
  bool next();

  bson::DocumentView document();     // valid until the next step or save
  storage::RecordId record() const;  // 0 if the document is no record
  // Returns the array element through which the filter matched the current document.
  std::optional<std::string> array_position();

  void save();
  // Throws QueryPlanKilled if the collection or an index in use is gone.
  void restore(storage::Transaction& transaction);
  // An operation that continues with a saved executor (getMore) attaches it.
  void attach(OperationContext& op);
  void detach();

  // Returns true for a tailable scan: at its end it may be asked again.
  bool tailable() const;
  // Returns true if it is known to have nothing more: a limit is reached, or an _id was looked up.
  bool exhausted() const;

  ExecutionStats stats() const;
  std::string summary() const;  // "IXSCAN { a: 1 }", for logs
  bool scans() const;           // it scans the whole collection
  bool sorts() const;           // it sorts in memory
  bool raced() const;           // the plan won against others, now
  bool replanned() const;       // it took the place of one of the plan cache while it ran
  // Return 8 hexadecimal digits that name the query's form, and its form together with the indexes that exist.
  std::string shape_hash() const;
  std::string plan_key() const;
  const Matcher& matcher() const;
  const bson::CollatorPtr& collator() const;  // the query's, or else the collection's; nullptr: none

  // Explain shows it on top of the stages: COUNT, UPDATE, DELETE, TS_MODIFY.
  struct Top {
    std::string stage;
    std::function<void(bson::Builder& out)> figures;  // with executionStats
    bool alone = false;                               // nothing is below it
    bson::Document details = {};                      // fields that are shown at any verbosity
  };
  // Appends `queryPlanner`, and with a verbosity above it `executionStats`, as MongoDB's explain has them. The latter needs that
  // the query was run to its end.
  void explain(bson::Builder& out, Verbosity verbosity, const Top* top = nullptr) const;
  // Appends the stages with their figures so far.
  void append_stages(bson::Builder& out) const;

 private:
  void explain_planner(bson::Builder& out, const Top* top) const;
  void explain_execution(bson::Builder& out, Verbosity verbosity, const Top* top) const;

  std::unique_ptr<Plan> plan_;
  int64_t resumed_us_ = 0;  // when the last pause ended
  int since_pause_ = 0;
};

// Plans the query. `collection` may be nullptr: then the namespace doesn't exist and nothing is found. Throws MongoDB's errors
// for a bad filter, projection, sort or hint. The caller holds the collection's schema lock whenever it calls the executor.
// `whole`: the query is a part of that computation, which lives longer, and shares its budget of memory.
std::unique_ptr<Executor> make_executor(OperationContext& op, storage::Transaction& transaction,
                                        std::shared_ptr<storage::Collection> collection, const Query& query,
                                        Allowance* whole = nullptr);

}  // namespace server::query
