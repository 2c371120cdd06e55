// The oplog as a collection like any other: what find, aggregate, getMore and
// tailing readers see as local.oplog.rs.
#include <algorithm>

#include "bson/builder.h"
#include "replication/logged_transactions.h"
#include "replication/named_contents.h"
#include "replication/oplog_state.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace replication {
namespace {

using base::ErrorCode;
using base::OperationError;
using storage::Direction;
using storage::RecordId;
using storage::Stamp;
using storage::Transaction;

// Entries with their contents, which are read from where they stand.
class Contents {
 public:
  explicit Contents(Oplog::State& state)
      : named_(state.store, [&state](Stamp stamp) -> std::optional<Bytes> {
          Transaction now(state.store, Transaction::Mode::read);
          const auto row = state.table.get(now, entry_key(stamp));
          return row ? std::optional<Bytes>(*row) : std::nullopt;
        }) {}

  bson::Document read(Transaction& transaction, Stamp stamp, const Entry& entry) {
    Bytes held;
    return oplog_document(stamp, whole(transaction, stamp, entry, held));
  }

  Entry whole(Transaction& transaction, Stamp stamp, const Entry& entry, Bytes& held) {
    const auto found = named_.whole(transaction, stamp, entry, held);
    if (found) return *found;
    throw OperationError(ErrorCode::query_plan_killed,
                         "collection dropped while the oplog was read: '" + std::string(entry.ns) + "'");
  }
  bool available(Stamp stamp, const Entry& entry) { return named_.available(stamp, entry); }

 private:
  NamedContents named_;
};

Entry decoded(BytesView value) {
  return decode(value).or_throw();
}

bson::Document read_part(Oplog::State& state, Transaction& transaction, Contents& contents, const std::vector<LoggedPart>& parts,
                         size_t at) {
  return transaction_document(state.table.cursor(transaction), parts, at,
                              [&](Stamp stamp, const Entry& entry, Bytes& held) -> std::optional<Entry> {
                                if (!contents.available(stamp, entry)) return std::nullopt;
                                return contents.whole(transaction, stamp, entry, held);
                              });
}

class OplogScan final : public storage::CollectionScan {
 public:
  OplogScan(std::shared_ptr<Oplog::State> state, Transaction& transaction, Direction direction)
      : state_(std::move(state)), forward_(direction == Direction::forward), contents_(*state_) {
    open(transaction);
  }

  void seek(RecordId id) override { start_ = static_cast<Stamp>(id); }

  bool next() override {
    while (!done_) {
      const bool on = fresh_ ? first() : step();
      fresh_ = false;
      if (!on || (forward_ ? stamp() >= end_ : stamp() == 0)) {
        done_ = true;
        break;
      }
      last_ = stamp();
      entry_ = decoded(rows_->value());
      if (entry_.in_transaction ? find_part() : contents_.available(last_, entry_)) return true;
    }
    return false;
  }

  RecordId record() const override { return static_cast<RecordId>(last_); }

  bson::DocumentView document() override {
    document_ = entry_.in_transaction ? read_part(*state_, *transaction_, contents_, parts_, part_)
                                      : contents_.read(*transaction_, last_, entry_);
    return document_;
  }

  void save() override { rows_.reset(); }

  void restore(Transaction& transaction) override {
    open(transaction);
    if (last_ == 0) return;
    fresh_ = true;
    if (!forward_) return;
    // A reader that the cutting off has overtaken must not believe that it has seen everything.
    if (!rows_->seek(entry_key(last_)) || stamp() != last_) {
      throw OperationError(
          ErrorCode::capped_position_lost,
          "CollectionScan died due to position in capped collection being deleted. Last seen record id: RecordId(" +
              std::to_string(last_) + ")");
    }
    done_ = false;
  }

 private:
  void open(Transaction& transaction) {
    transaction_ = &transaction;
    end_ = transaction.visible_below();
    rows_.emplace(state_->table.cursor(transaction));
  }
  bool first() {
    if (forward_) return rows_->seek(entry_key(last_ ? last_ + 1 : std::max<Stamp>(1, start_)));
    const Stamp from = last_ ? last_ - 1 : (start_ ? std::min(start_, end_ - 1) : end_ - 1);
    return rows_->seek_back(entry_key(from));
  }
  bool step() { return forward_ ? rows_->next() : rows_->previous(); }
  Stamp stamp() const { return stamp_from_key(rows_->key()); }

  // The scan stands on a row of a client's transaction. Goes to the part that comes next in its direction, and returns false if
  // none does: the log was cut within the transaction, or the scan began behind the part's first row.
  bool find_part() {
    const Stamp first = last_ - entry_.behind_first;
    if (parts_.empty() || parts_.front().first != first)
      parts_ = parts_of_transaction(state_->table.cursor(*transaction_), first);
    const auto behind = std::find_if(parts_.begin(), parts_.end(),
                                     [&](const LoggedPart& part) { return forward_ ? part.last >= last_ : part.last > last_; });
    part_ = static_cast<size_t>(behind - parts_.begin());
    if (!forward_ && part_-- == 0) return false;
    if (part_ >= parts_.size()) return false;
    // The next step leaves the part.
    rows_->seek(entry_key(forward_ ? parts_[part_].last : parts_[part_].first));
    last_ = parts_[part_].last;
    return true;
  }

  const std::shared_ptr<Oplog::State> state_;
  const bool forward_;
  Contents contents_;
  Transaction* transaction_ = nullptr;
  std::optional<storage::TableCursor> rows_;
  Stamp start_ = 0;  // 0: from the end that the direction begins at
  Stamp end_ = 0;    // not to be read yet
  Stamp last_ = 0;
  bool fresh_ = true;
  bool done_ = false;
  Entry entry_;
  std::vector<LoggedPart> parts_;  // of the client's transaction that the scan was in last
  size_t part_ = 0;
  bson::Document document_;
};

class OplogCollection final : public storage::Collection {
 public:
  explicit OplogCollection(std::shared_ptr<Oplog::State> state) : state_(std::move(state)) {
    bson::Builder document;
    document.append("capped", true).append("size", state_->bytes_max).append("autoIndexId", false);
    options_.document = document.done();
    options_.capped = true;
    options_.capped_bytes = state_->bytes_max;
  }

  storage::CollectionId id() const override { return UINT32_MAX; }
  std::string ns() const override { return oplog_ns; }
  std::string uuid_bytes() const override { return state_->uuid; }
  const storage::CollectionOptions& options() const override { return options_; }
  bool dropped() const override { return false; }
  bool read_only() const override { return true; }
  base::InterruptibleMutex& schema_mutex() override { return schema_mutex_; }
  std::vector<std::shared_ptr<const storage::Index>> indexes() const override { return {}; }
  std::shared_ptr<const storage::Index> index(std::string_view) const override { return nullptr; }

  storage::Stored insert(Transaction&, bson::DocumentView) override { read_only_error(); }
  storage::Updated update(Transaction&, RecordId, bson::DocumentView, bson::DocumentView) override { read_only_error(); }
  storage::Superseded remove(Transaction&, RecordId, bson::DocumentView) override { read_only_error(); }

  std::optional<bson::Document> find(Transaction& transaction, RecordId id, storage::ReadInfo*) override {
    const auto stamp = static_cast<Stamp>(id);
    if (stamp == 0 || stamp >= transaction.visible_below()) return std::nullopt;
    const auto row = state_->table.get(transaction, entry_key(stamp));
    if (!row) return std::nullopt;
    const Bytes value(*row);
    const Entry entry = decoded(value);
    Contents contents(*state_);
    if (entry.in_transaction) {
      const auto parts = parts_of_transaction(state_->table.cursor(transaction), stamp - entry.behind_first);
      for (size_t at = 0; at < parts.size(); ++at) {
        if (parts[at].last == stamp) return read_part(*state_, transaction, contents, parts, at);
      }
      return std::nullopt;
    }
    if (!contents.available(stamp, entry)) return std::nullopt;
    return contents.read(transaction, stamp, entry);
  }
  std::optional<RecordId> find_id(Transaction&, const bson::ValueView&) override { return std::nullopt; }

  std::unique_ptr<storage::CollectionScan> scan(Transaction& transaction, Direction direction) override {
    return std::make_unique<OplogScan>(state_, transaction, direction);
  }
  std::unique_ptr<storage::IndexCursor> scan(Transaction&, const storage::Index&, Direction) override {
    throw OperationError(ErrorCode::illegal_operation, "the oplog has no indexes");
  }
  storage::RecordStore& records() override { throw OperationError(ErrorCode::illegal_operation, "the oplog is no record store"); }

  int64_t record_count() const override { return state_->stats().entries; }
  int64_t logical_bytes() const override { return state_->stats().logical_bytes; }

 private:
  [[noreturn]] static void read_only_error() { throw OperationError(ErrorCode::illegal_operation, "cannot write to the oplog"); }

  const std::shared_ptr<Oplog::State> state_;
  storage::CollectionOptions options_;
  base::InterruptibleMutex schema_mutex_;
};

}  // namespace

std::shared_ptr<storage::Collection> make_oplog_collection(std::shared_ptr<Oplog::State> state) {
  return std::make_shared<OplogCollection>(std::move(state));
}

}  // namespace replication
