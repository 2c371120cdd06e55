// An index kept in a table of its own.
//
//   unique       key string                        -> record key, types
//   not unique   key string, record id (8, BE)     -> types
//   versions     key string, record id (8, BE)     -> nothing
//
// Types (bson/key_types.h) give the values back from their key, and are mostly nothing. Indexes from before there were any don't
// tell.
//
// Since equal keys of a unique index are one row, WiredTiger itself sees that
// two transactions want the same key.
//
// Where several views share the records, one of them may show another record
// under a key than the next: from then on a unique index has its entries in the
// form of the others, beside those it had. Whether a key is free is decided by
// the view, and two transactions that want it write the same row (`claim`).
#pragma once

#include <atomic>
#include <memory>

#include "storage/indexes/index.h"
#include "storage/indexes/index_keys.h"

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
  // Cursors from before can't go on in a later transaction.
  bool shared() const { return shared_.load(std::memory_order_acquire); }
  void set_shared() { shared_.store(true, std::memory_order_release); }
  // Entries of versions lie in this table, whose values say something else. Before there are any, with the schema lock held
  // exclusively or nobody else seeing the index.
  void set_versions(Table table) { versions_ = std::move(table); }
  // In place of another object over the same table, whose description changes. Likewise.
  void go_on_from(const StoredIndex& before);
  // Every entry has its types. Likewise; versions have none, so that an index that is shared tells nothing.
  void set_tells_types() { tells_types_ = true; }
  bool tells_types() const { return tells_types_ && !shared() && !versions_.exists(); }
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
  bool insert(Transaction& transaction, BytesView key, RecordId record, BytesView types) const;
  // Other types under a key that the record has already.
  void retype(Transaction& transaction, BytesView key, RecordId record, BytesView types) const;
  void remove(Transaction& transaction, BytesView key, RecordId record) const;
  // Whether exactly this entry is there.
  bool has(Transaction& transaction, BytesView key, RecordId record) const;
  // The types that the entry tells; nullopt: it isn't there, or none of this index does.
  std::optional<Bytes> types(Transaction& transaction, BytesView key, RecordId record) const;
  // Of a unique index: whoever inserts this key, which nobody has, at the same time conflicts.
  void claim(Transaction& transaction, BytesView key) const;
  // Of a unique index.
  std::optional<RecordId> find(Transaction& transaction, BytesView key) const;

  std::unique_ptr<IndexCursor> cursor(Transaction& transaction, Direction direction) const;

  // Versions: several records under one key, in an index that has no table of its own for them.
  void add_version(Transaction& transaction, BytesView key, RecordId record) const;
  void remove_version(Transaction& transaction, BytesView key, RecordId record) const;
  // Every record under the key, in whatever form, until `each` returns false.
  void each_version(Transaction& transaction, BytesView key, const std::function<bool(RecordId)>& each) const;
  // Whoever else claims the key for the same one at the same time conflicts.
  void claim(Transaction& transaction, BytesView key, uint32_t who) const;

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
  std::atomic<bool> shared_{false};
  bool tells_types_ = false;
  Table versions_;
  std::shared_ptr<const DocumentPredicate> predicate_;
};

using StoredIndexes = std::vector<std::shared_ptr<StoredIndex>>;

std::string index_table_name(CollectionId collection, uint32_t number);

}  // namespace storage
