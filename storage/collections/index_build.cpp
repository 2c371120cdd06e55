#include <algorithm>
#include <set>

#include "storage/collections/stored_catalog.h"
#include "storage/engine/internals.h"

namespace storage {
namespace {

constexpr size_t records_per_batch = 1000;   // read in one transaction
constexpr size_t sort_bytes_max = 32 << 20;  // keys of all indexes, sorted before they are written
constexpr size_t entries_per_transaction = 2000;

struct Entry {
  Bytes key;
  RecordId record;
  Bytes types;
  bool operator<(const Entry& other) const {
    const int order = key.compare(other.key);
    return order != 0 ? order < 0 : record < other.record;
  }
};

// Keys come in the order of the records. Written in their own order, they fill one page after the other.
class Build {
 public:
  Build(Engine& engine, StoredCollection& collection, const StoredIndexes& indexes, KeyLimits limits,
        const std::function<void()>& interrupted, const std::function<void(int64_t, int64_t)>& progress)
      : engine_(engine),
        collection_(collection),
        indexes_(indexes),
        limits_(limits),
        interrupted_(interrupted),
        progress_(progress),
        entries_(indexes.size()),
        multikey_(indexes.size()),
        paths_(indexes.size()) {}

  void run() {
    RecordId last = 0;
    while (read_batch(last)) {
      if (progress_) progress_(read_, std::max(read_, collection_.record_count()));
      if (interrupted_) interrupted_();
      engine_.internals().require_room(DiskUse::background);
      if (bytes_ >= sort_bytes_max) write();
    }
    write();
  }

 private:
  // Returns false when there are no more records. A batch has its own snapshot; the schema lock keeps writers away.
  bool read_batch(RecordId& last) {
    Transaction transaction(engine_, Transaction::Mode::read);
    RecordCursor cursor = collection_.records().cursor(transaction);
    if (last != 0) cursor.seek_after(last);
    IndexKeys keys;
    for (size_t n = 0; n < records_per_batch; ++n) {
      if (!cursor.next()) return false;
      last = cursor.id();
      ++read_;
      const bson::DocumentView document(cursor.content());
      for (size_t i = 0; i < indexes_.size(); ++i) {
        indexes_[i]->keys_of(document, keys, limits_);
        multikey_[i] |= keys.multikey_fields;
        paths_[i].insert(keys.multikey_paths.begin(), keys.multikey_paths.end());
        for (size_t k = 0; k < keys.keys.size(); ++k) {
          bytes_ += keys.keys[k].size() + sizeof(Entry);
          entries_[i].push_back({std::move(keys.keys[k]), last, Bytes(keys.types_at(k))});
        }
      }
      if (bytes_ >= sort_bytes_max) break;
    }
    return true;
  }

  void write() {
    for (size_t i = 0; i < indexes_.size(); ++i) {
      collection_.note_multikey(*indexes_[i], multikey_[i], {paths_[i].begin(), paths_[i].end()});
      paths_[i].clear();
      std::sort(entries_[i].begin(), entries_[i].end());
      for (size_t at = 0; at < entries_[i].size(); at += entries_per_transaction) {
        if (interrupted_) interrupted_();
        engine_.internals().require_room(DiskUse::background);
        write_some(*indexes_[i], entries_[i], at, std::min(at + entries_per_transaction, entries_[i].size()));
      }
      entries_[i].clear();
    }
    bytes_ = 0;
  }

  void write_some(StoredIndex& index, const std::vector<Entry>& entries, size_t from, size_t to) {
    in_transaction(engine_, [&](Transaction& transaction) {
      for (size_t i = from; i < to; ++i) {
        if (index.shared()) {
          index.add_version(transaction, entries[i].key, entries[i].record);
          continue;
        }
        if (index.insert(transaction, entries[i].key, entries[i].record, entries[i].types)) continue;
        const auto document = collection_.find(transaction, entries[i].record, nullptr);
        index.duplicate(collection_.ns(), document ? document->view() : bson::DocumentView(), entries[i].key);
      }
    });
  }

  Engine& engine_;
  StoredCollection& collection_;
  const StoredIndexes& indexes_;
  const KeyLimits limits_;
  const std::function<void()>& interrupted_;
  const std::function<void(int64_t, int64_t)>& progress_;
  std::vector<std::vector<Entry>> entries_;
  std::vector<uint32_t> multikey_;
  std::vector<std::set<std::string>> paths_;  // since the last write
  size_t bytes_ = 0;
  int64_t read_ = 0;  // records
};

}  // namespace

void build_indexes(Engine& engine, StoredCollection& collection, const StoredIndexes& indexes, KeyLimits limits,
                   const std::function<void()>& interrupted, const std::function<void(int64_t, int64_t)>& progress) {
  Build(engine, collection, indexes, limits, interrupted, progress).run();
}

}  // namespace storage
