// A write command under lsid and txnNumber: each of its statements takes effect
// once, and a retried one is answered from the log.
#pragma once

#include <memory>
#include <vector>

#include "bson/builder.h"
#include "replication/session_store.h"

namespace server {
class OperationContext;
}

namespace server::write {

// Belongs to the operation; not thread-safe.
class Retry {
 public:
  explicit Retry(OperationContext& op, std::unique_ptr<replication::SessionHistory> history)
      : op_(op), history_(std::move(history)) {}

  // The statements of the command: stmtIds or stmtId, else they are numbered. Throws InvalidOptions.
  void read_ids(bson::DocumentView command, size_t statements);

  // Which statement is at hand.
  void at(size_t index) { index_ = index; }
  bool executed();  // and notes that it was retried
  // The log's entry of the statement at hand, which was executed. Throws IncompleteTransactionHistory.
  bson::Document entry() const;
  // findAndModify: the content it answered with. Throws likewise.
  bson::Document image() const;
  void keep_image(replication::SessionWrite::Image image) { image_ = image; }

  // Several statements in one transaction: begun and saved by the caller, instead of with each write.
  void batch(bool on) { batch_ = on; }
  void begin() { history_->begin(); }
  void save(storage::Transaction& transaction);

  // Around one write of the statement at hand, within its transaction.
  replication::SessionWrite before(bool with_image);
  // `image`: the content the answer shows, where there is to be one.
  void after(storage::Transaction& transaction, storage::Stamp stamp, const bson::DocumentView* image);
  replication::SessionWrite::Image image_kind() const { return image_; }

  void append_retried(bson::Builder& reply) const;  // retriedStmtIds
  int32_t statement() const { return ids_[index_]; }
  size_t retried() const { return retried_.size(); }  // statements that had been executed before

 private:
  void fail_if_asked();  // the fail point onPrimaryTransactionalWrite with an error

  OperationContext& op_;
  const std::unique_ptr<replication::SessionHistory> history_;
  std::vector<int32_t> ids_;
  std::vector<int32_t> retried_;
  size_t index_ = 0;
  bool batch_ = false;
  replication::SessionWrite::Image image_ = replication::SessionWrite::Image::none;
};

// Refuses what names a transaction number but changes many documents.
void check_single(const OperationContext& op, bool multi, const char* option);

}  // namespace server::write
