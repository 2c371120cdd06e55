// A StoredIndex is an index that is kept in a table of its own.
//
//   unique       key string                        -> record key, types
//   not unique   key string, record id (8, BE)     -> types
//   versions     key string, record id (8, BE)     -> nothing
//
// The types (bson/key_types.h) give the values back from their key, and are mostly empty. Indexes that were made before there
// were types hold none.
//
// Since equal keys of a unique index are one row, WiredTiger itself notices that two transactions want the same key.
//
// If several views share the records, two views may show different records under one key. From then on a unique index writes its
// entries in the form of the others, beside those it had. The view decides whether a key is free, and two transactions that want
// it write the same row (`claim`).
#pragma once

#include <atomic>
#include <memory>

#include "storage/indexes/index.h"
#include "storage/indexes/index_keys.h"
#include "storage/indexes/multikey_paths.h"

namespace storage {

class Engine;

class StoredIndex final : public Index, public std::enable_shared_from_this<StoredIndex> {
 public:
  StoredIndex(Engine& engine, uint32_t number, IndexSpec spec, Table table, bool ready);

  bool multikey() const override { return multikey_.load(std::memory_order_acquire) != 0; }
  bool multikey_field(size_t i) const override { return multikey_.load(std::memory_order_acquire) >> i & 1; }
  bool multikey_path(std::string_view path) const override { return multikey() && multikey_paths_.contains(path); }
  bool is_id() const override { return is_id_; }
  bool ready() const override { return ready_.load(std::memory_order_acquire); }
  IndexStats stats() const override;
  void count_access() const override { accesses_.fetch_add(1, std::memory_order_relaxed); }
  const DocumentPredicate* partial_predicate() const override { return predicate_.get(); }

  uint32_t number() const { return number_; }
  // Refuses writes that would bring two records under one key, although the index isn't unique (prepareUnique).
  bool prepares_unique() const { return prepares_unique_; }
  bool dropped() const { return dropped_.load(std::memory_order_acquire); }
  // Once the index is shared, cursors that were made before can't go on in a later transaction.
  bool shared() const { return shared_.load(std::memory_order_acquire); }
  void set_shared() { shared_.store(true, std::memory_order_release); }
  // Sets the table of the versions' entries, because the values of the index's own table have another meaning. It is called
  // before there are versions, with the schema lock held exclusively or while nobody else sees the index.
  void set_versions(Table table) { versions_ = std::move(table); }
  // Makes this object replace another one over the same table, whose description changes. The same locks are needed.
  void go_on_from(const StoredIndex& before);
  // Says that every entry has its types. The same locks are needed. Entries of versions have no types, so an index that is shared
  // offers none.
  void set_tells_types() { tells_types_ = true; }
  bool tells_types() const { return tells_types_ && !shared() && !versions_.exists(); }
  uint32_t multikey_fields() const { return multikey_.load(std::memory_order_acquire); }
  void add_multikey_fields(uint32_t fields) { multikey_.fetch_or(fields, std::memory_order_acq_rel); }
  // The paths of a wildcard index's arrays. They are added before the field's flag, so that nobody sees the flag without them.
  const MultikeyPaths& multikey_path_set() const { return multikey_paths_; }
  MultikeyPaths& multikey_path_set() { return multikey_paths_; }
  void set_ready() { ready_.store(true, std::memory_order_release); }
  void set_dropped() { dropped_.store(true, std::memory_order_release); }
  // It is called with the schema lock held exclusively, or before anyone else sees the index.
  void set_predicate(std::shared_ptr<const DocumentPredicate> predicate) { predicate_ = std::move(predicate); }
  bool partial() const { return !spec_.partial_filter.empty(); }

  // Computes the document's keys; there are none if a partial filter excludes it.
  void keys_of(bson::DocumentView document, IndexKeys& out, KeyLimits limits = KeyLimits::none) const;

  // Returns false, and writes nothing, if a unique key is there already.
  bool insert(Transaction& transaction, BytesView key, RecordId record, BytesView types) const;
  // Writes other types under a key that the record has already.
  void retype(Transaction& transaction, BytesView key, RecordId record, BytesView types) const;
  void remove(Transaction& transaction, BytesView key, RecordId record) const;
  // Returns whether exactly this entry is there.
  bool has(Transaction& transaction, BytesView key, RecordId record) const;
  // Returns the types of the entry, or nullopt if it isn't there or if this index has no types.
  std::optional<Bytes> types(Transaction& transaction, BytesView key, RecordId record) const;
  // Claims a free key of a unique index: any other transaction that inserts the key at the same time conflicts.
  void claim(Transaction& transaction, BytesView key) const;
  // Returns the record under a key of a unique index.
  std::optional<RecordId> find(Transaction& transaction, BytesView key) const;

  std::unique_ptr<IndexCursor> cursor(Transaction& transaction, Direction direction) const;

  // These add and remove versions: several records under one key, in an index that has no table of its own for them.
  void add_version(Transaction& transaction, BytesView key, RecordId record) const;
  void remove_version(Transaction& transaction, BytesView key, RecordId record) const;
  // Calls `each` for every record under the key, in whatever form, until it returns false.
  void each_version(Transaction& transaction, BytesView key, const std::function<bool(RecordId)>& each) const;
  // Claims the key for `who`: any other transaction that claims it for the same `who` at the same time conflicts.
  void claim(Transaction& transaction, BytesView key, uint32_t who) const;

  // Throws E11000 … with the values behind `key`.
  [[noreturn]] void duplicate(const std::string& ns, bson::DocumentView document, BytesView key) const;

 private:
  Engine& engine_;
  const uint32_t number_;
  const int64_t since_ms_;
  mutable std::atomic<int64_t> accesses_{0};
  std::atomic<uint32_t> multikey_{0};  // bit i stands for field i
  MultikeyPaths multikey_paths_;
  std::atomic<bool> ready_;
  std::atomic<bool> dropped_{false};
  std::atomic<bool> shared_{false};
  bool tells_types_ = false;
  bool prepares_unique_ = false;
  bool is_id_ = false;  // that of a clustered collection has a name of its own
  Table versions_;
  std::shared_ptr<const DocumentPredicate> predicate_;
};

using StoredIndexes = std::vector<std::shared_ptr<StoredIndex>>;

std::string index_table_name(CollectionId collection, uint32_t number);

}  // namespace storage
