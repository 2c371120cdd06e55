#include "server/commands/catalog/index_conversion.h"

#include "bson/builder.h"
#include "server/core/operation.h"
#include "server/core/schema_hold.h"
#include "server/write/detailed_error.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

constexpr size_t list_bytes_max = 8 << 20;

// Violations collects those among the documents under one key after the other.
class Violations {
 public:
  Violations(storage::Transaction& transaction, storage::Collection& collection)
      : transaction_(transaction), collection_(collection) {}

  void add(bson::BytesView key, storage::RecordId record) {
    if (key != key_) next(key);
    records_.push_back(record);
  }
  bool full() const { return bytes_ > list_bytes_max; }
  // Returns [{ids: [1, 2]}, …].
  bson::Value list() {
    next({});
    return list_.done_value();
  }
  bool empty() const { return bytes_ == 0; }

 private:
  void next(bson::BytesView key) {
    if (records_.size() > 1) append();
    records_.clear();
    key_ = key;
  }

  void append() {
    bson::Builder violation;
    {
      auto ids = violation.array("ids");
      for (const storage::RecordId record : records_) {
        if (const auto document = collection_.find(transaction_, record)) ids.append(document->view()["_id"]);
      }
    }
    const bson::Document document = violation.done();
    bytes_ += document.bytes().size();
    list_.append(document);
  }

  storage::Transaction& transaction_;
  storage::Collection& collection_;
  bson::Bytes key_;
  std::vector<storage::RecordId> records_;
  bson::ArrayBuilder list_;
  size_t bytes_ = 0;
};

}  // namespace

void check_convertible(OperationContext& op, storage::Collection& collection, const storage::Index& index) {
  const SchemaHold schema(op, collection.schema_mutex(), SchemaHold::Intent::read);
  storage::Transaction transaction(write::store_of(op).engine(), storage::Transaction::Mode::read);
  const auto interrupted = op.interrupted();
  Violations violations(transaction, collection);
  const auto entries = collection.scan(transaction, index, storage::Direction::forward);
  entries->seek({});
  while (entries->next() && !violations.full()) {
    if (interrupted) interrupted();
    violations.add(entries->key(), entries->record());
  }
  bson::Builder details;
  details.append("violations", violations.list());
  if (violations.empty()) return;
  throw write::DetailedError(static_cast<base::ErrorCode>(359),
                             "Cannot convert the index to unique. Please resolve conflicting documents before running collMod "
                             "again.",
                             details.done());
}

}  // namespace server
