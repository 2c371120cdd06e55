#include "storage/collections/stored_collection.h"

namespace storage {
namespace {

class StoredCollectionScan final : public CollectionScan {
 public:
  StoredCollectionScan(std::shared_ptr<StoredCollection> collection, Transaction& transaction, Direction direction)
      : collection_(std::move(collection)),
        direction_(direction),
        cursor_(collection_->records().cursor(transaction, direction)) {}

  bool next() override {
    if (done_) return false;
    if (!cursor_->next()) {
      done_ = true;
      return false;
    }
    last_ = cursor_->id();
    return true;
  }

  void seek(RecordId id) override {
    const bool forward = direction_ == Direction::forward;
    if (forward ? id > record_id_min : id < record_id_max) cursor_->seek_after(forward ? id - 1 : id + 1);
  }

  RecordId record() const override { return last_; }
  bson::DocumentView document() override { return bson::DocumentView(cursor_->content()); }
  ReadInfo read_info() const override { return cursor_ ? cursor_->info() : ReadInfo{}; }

  void save() override { cursor_.reset(); }

  void restore(Transaction& transaction) override {
    if (collection_->dropped()) {
      throw base::OperationError(base::ErrorCode::query_plan_killed, "collection dropped: '" + collection_->ns() + "'");
    }
    if (collection_->moves()) {
      throw base::OperationError(base::ErrorCode::query_plan_killed,
                                 "the first branch of its database was made: '" + collection_->ns() + "'");
    }
    if (collection_->options().capped && direction_ == Direction::forward && last_ != 0 &&
        !collection_->records().find(transaction, last_)) {
      throw base::OperationError(
          base::ErrorCode::capped_position_lost,
          "CollectionScan died due to position in capped collection being deleted. Last seen record id: RecordId(" +
              std::to_string(last_) + ")");
    }
    cursor_.emplace(collection_->records().cursor(transaction, direction_));
    if (last_ != 0) cursor_->seek_after(last_);
    // A tailing reader must see what was inserted since.
    if (direction_ == Direction::forward) done_ = false;
  }

 private:
  std::shared_ptr<StoredCollection> collection_;
  const Direction direction_;
  std::optional<RecordCursor> cursor_;
  RecordId last_ = 0;  // 0: before the first
  bool done_ = false;
};

}  // namespace

std::unique_ptr<CollectionScan> make_collection_scan(std::shared_ptr<StoredCollection> collection, Transaction& transaction,
                                                     Direction direction) {
  return std::make_unique<StoredCollectionScan>(std::move(collection), transaction, direction);
}

}  // namespace storage
