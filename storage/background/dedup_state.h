// What dedup remembers over a restart, beside its feature metadata: where the
// encoding of each collection stands, and each database's number and secret.
//
//   dedup_state   'd' name       -> | 01 | number | seed 8 |
//                 'c' number BE  -> | 02 | encoded up to | missed from | seen | counts … |
//                 'r'            -> nothing: a run began, and has not ended orderly yet
//
// All of it may be lost: contents are then encoded a second time, or not found again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dedup/metadata_log.h"
#include "storage/contents/store_tables.h"

namespace storage {

struct CollectionState {
  RecordId encoded = 0;            // every record up to here was looked at
  Stamp missed_from = UINT64_MAX;  // but what was updated since may not have been
  Stamp seen = 0;                  // when all that had been updated was looked at, but what was missed
  StoreCounts counts;
};

struct DatabaseState {
  uint32_t number = 0;
  uint64_t seed = 0;
};

// Thread-safe, as its table is.
class DedupState {
 public:
  explicit DedupState(Engine& engine);

  std::optional<CollectionState> collection(CollectionId collection) const;
  void put(Transaction& transaction, CollectionId collection, const CollectionState& state) const;
  void remove(Transaction& transaction, CollectionId collection) const;

  // True: the last run didn't come to its end, and counts may be older than what is stored.
  bool begin_run() const;
  void end_run() const;

  // As stored, or new ones.
  DatabaseState database(const std::string& name) const;

 private:
  Engine& engine_;
  Table table_;
};

// The pages of one database's feature metadata, in a table shared by all.
//
//   feature_metadata   database number (BE), page number (BE) -> page
//
// Changes are kept until `write` puts them into somebody's transaction. Not thread-safe.
class MetadataPages : public dedup::MetadataStore {
 public:
  MetadataPages(Engine& engine, Table table, uint32_t database)
      : engine_(engine), table_(std::move(table)), database_(database) {}
  static Table open_table(Engine& engine);

  std::optional<base::Bytes> read_page(uint32_t page) override;
  void write_page(uint32_t page, base::BytesView bytes) override;
  void erase_page(uint32_t page) override;
  std::vector<uint32_t> pages() override;

  bool changed() const { return !changes_.empty(); }
  void write(Transaction& transaction);  // keeps the changes until `written`
  void written() { changes_.clear(); }

 private:
  base::Bytes key(uint32_t page) const;

  Engine& engine_;
  Table table_;
  uint32_t database_;
  std::map<uint32_t, std::optional<base::Bytes>> changes_;  // nullopt: erased
};

}  // namespace storage
