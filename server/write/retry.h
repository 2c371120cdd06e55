// Retry makes a write command with lsid and txnNumber take effect once: each
// statement that an earlier attempt executed is answered from the log.
#pragma once

#include <memory>
#include <vector>

#include "bson/builder.h"
#include "replication/session_store.h"

namespace server {
class OperationContext;
}

namespace server::write {

// Returns the ids of a command's statements from its stmtIds or stmtId; without those they are numbered from 0. `command` is its
// name. Throws TypeMismatch (14), InvalidOptions (72), InvalidLength (16), Overflow (15).
std::vector<int32_t> statement_ids(std::string_view command, bson::DocumentView body, size_t statements);

// Belongs to the operation; not thread-safe.
class Retry {
 public:
  explicit Retry(OperationContext& op, std::unique_ptr<replication::SessionHistory> history)
      : op_(op), history_(std::move(history)) {}

  // Sets the ids of the command's statements.
  void set_ids(std::vector<int32_t> ids) { ids_ = std::move(ids); }

  // Sets the current statement.
  void at(size_t index) { index_ = index; }
  bool executed();  // if true, it also counts the statement as retried
  // Returns the log's entry of the current statement, which was executed. Throws IncompleteTransactionHistory.
  bson::Document entry() const;
  // Returns the content that an executed findAndModify answered with. Throws IncompleteTransactionHistory.
  bson::Document image() const;
  void keep_image(replication::SessionWrite::Image image) { image_ = image; }

  // With `on`, several statements share a transaction: the caller calls begin and save, which otherwise each write does.
  void batch(bool on) { batch_ = on; }
  void begin() { history_->begin(); }
  void save(storage::Transaction& transaction);

  // Called before and after one write of the current statement, within its transaction.
  replication::SessionWrite before(bool with_image);
  // `image` is the content that the reply shows; nullptr: it shows none.
  void after(storage::Transaction& transaction, storage::Stamp stamp, const bson::DocumentView* image);
  replication::SessionWrite::Image image_kind() const { return image_; }

  void append_retried(bson::Builder& reply) const;  // retriedStmtIds
  int32_t statement() const { return ids_[index_]; }
  size_t retried() const { return retried_.size(); }  // the number of statements that had been executed before

 private:
  void fail_if_asked();  // the fail point onPrimaryTransactionalWrite may ask for an error

  OperationContext& op_;
  const std::unique_ptr<replication::SessionHistory> history_;
  std::vector<int32_t> ids_;
  std::vector<int32_t> retried_;
  size_t index_ = 0;
  bool batch_ = false;
  replication::SessionWrite::Image image_ = replication::SessionWrite::Image::none;
};

// Refuses retryable writes to the collections in which sessions are recorded. Throws IllegalOperation (20).
void check_retryable(std::string_view ns);

// Refuses a statement with a transaction number that may change many documents.
void check_single(const OperationContext& op, bool multi, const char* option);

}  // namespace server::write
