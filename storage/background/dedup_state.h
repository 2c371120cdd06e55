// This file keeps what dedup remembers over a restart, beside its feature metadata: the place at which the encoding of each
// collection stands, and each database's number and secret.
//
//   dedup_state   'd' name       -> | 01 | number | seed 8 |
//                 'c' number BE  -> | 02 | encoded up to | missed from | seen | counts … |
//                 'r'            -> nothing: the row exists while a run has begun and not ended in order
//
// A loss of this state is harmless: some contents are then encoded a second time, or aren't found as sources again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dedup/metadata_log.h"
#include "storage/contents/store_tables.h"

namespace storage {

struct CollectionState {
  RecordId encoded = 0;            // Every record up to this one was looked at.
  Stamp missed_from = UINT64_MAX;  // Updates may have been missed since this timestamp.
  Stamp seen = 0;                  // All updates up to this timestamp were looked at, except the missed ones.
  StoreCounts counts;
};

struct DatabaseState {
  uint32_t number = 0;
  uint64_t seed = 0;
};

// The values of rows. Reading returns nullopt for a damaged one.
Bytes write_state(const CollectionState& state);
std::optional<CollectionState> read_collection_state(BytesView row);
Bytes write_state(const DatabaseState& state);
std::optional<DatabaseState> read_database_state(BytesView row);

// This class is thread-safe, as its table is.
class DedupState {
 public:
  explicit DedupState(Engine& engine);

  std::optional<CollectionState> collection(CollectionId collection) const;
  void put(Transaction& transaction, CollectionId collection, const CollectionState& state) const;
  void remove(Transaction& transaction, CollectionId collection) const;

  // The function returns true when the last run didn't end in order; then the counts may be older than what is stored.
  bool begin_run() const;
  void end_run() const;

  // This function returns the stored number and secret, or makes new ones.
  DatabaseState database(const std::string& name) const;

 private:
  Engine& engine_;
  Table table_;
};

// This class keeps the pages of one database's feature metadata, in a table that all databases share.
//
//   feature_metadata   database number (BE), page number (BE) -> page
//
// The object keeps changes until `write` puts them into a transaction of the caller. It is not thread-safe.
class MetadataPages : public dedup::MetadataStore {
 public:
  MetadataPages(Engine& engine, Table table, uint32_t database)
      : engine_(engine), table_(std::move(table)), database_(database) {}
  static Table open_table(Engine& engine);
  // Makes the table anew if it is damaged. Nobody may have read its pages yet.
  static void check_table(Engine& engine, const Table& table);

  std::optional<base::Bytes> read_page(uint32_t page) override;
  void write_page(uint32_t page, base::BytesView bytes) override;
  void erase_page(uint32_t page) override;
  std::vector<uint32_t> pages() override;

  bool changed() const { return !changes_.empty(); }
  void write(Transaction& transaction);  // `write` keeps the changes until `written` is called.
  void written() { changes_.clear(); }

 private:
  base::Bytes key(uint32_t page) const;

  Engine& engine_;
  Table table_;
  uint32_t database_;
  std::map<uint32_t, std::optional<base::Bytes>> changes_;  // nullopt marks an erased page.
};

}  // namespace storage
