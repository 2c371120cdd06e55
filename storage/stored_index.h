// An index kept in a table of its own.
//
//   unique       key string                        -> record key
//   not unique   key string, record id (8, BE)     -> nothing
//
// Since equal keys of a unique index are one row, WiredTiger itself sees that
// two transactions want the same key.
#pragma once

#include <atomic>
#include <memory>

#include "storage/index.h"
#include "storage/index_keys.h"

namespace storage {

class Engine;

class StoredIndex final : public Index, public std::enable_shared_from_this<StoredIndex> {
 public:
  StoredIndex(Engine& engine, uint32_t number, IndexSpec spec, Table table, bool ready);

  bool multikey() const override { return multikey_.load(std::memory_order_acquire) != 0; }
  bool multikey_field(size_t i) const override { return multikey_.load(std::memory_order_acquire) >> i & 1; }
  bool is_id() const override { return spec_.name == "_id_"; }
  bool ready() const override { return ready_.load(std::memory_order_acquire); }
  IndexStats stats() const override;
  void count_access() const override { accesses_.fetch_add(1, std::memory_order_relaxed); }
  const DocumentPredicate* partial_predicate() const override { return predicate_.get(); }

  uint32_t number() const { return number_; }
  bool dropped() const { return dropped_.load(std::memory_order_acquire); }
  uint32_t multikey_fields() const { return multikey_.load(std::memory_order_acquire); }
  void add_multikey_fields(uint32_t fields) { multikey_.fetch_or(fields, std::memory_order_acq_rel); }
  void set_ready() { ready_.store(true, std::memory_order_release); }
  void set_dropped() { dropped_.store(true, std::memory_order_release); }
  // With the schema lock held exclusively, or before anyone else sees the index.
  void set_predicate(std::shared_ptr<const DocumentPredicate> predicate) { predicate_ = std::move(predicate); }
  bool partial() const { return !spec_.partial_filter.empty(); }

  // The document's keys, none where a partial filter leaves it out.
  void keys_of(bson::DocumentView document, IndexKeys& out) const;

  // False: a unique key is there already, and nothing was written.
  bool insert(Transaction& transaction, BytesView key, RecordId record) const;
  void remove(Transaction& transaction, BytesView key, RecordId record) const;
  // Whether exactly this entry is there.
  bool has(Transaction& transaction, BytesView key, RecordId record) const;
  // Of a unique index.
  std::optional<RecordId> find(Transaction& transaction, BytesView key) const;

  std::unique_ptr<IndexCursor> cursor(Transaction& transaction, Direction direction) const;

  // E11000 … with the values behind `key`.
  [[noreturn]] void duplicate(const std::string& ns, bson::DocumentView document, BytesView key) const;

 private:
  Engine& engine_;
  const uint32_t number_;
  const int64_t since_ms_;
  mutable std::atomic<int64_t> accesses_{0};
  std::atomic<uint32_t> multikey_{0};  // bit i: field i
  std::atomic<bool> ready_;
  std::atomic<bool> dropped_{false};
  std::shared_ptr<const DocumentPredicate> predicate_;
};

using StoredIndexes = std::vector<std::shared_ptr<StoredIndex>>;

std::string index_table_name(CollectionId collection, uint32_t number);

}  // namespace storage
