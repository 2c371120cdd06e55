// StoreTables holds the tables of one collection's records, and StoreCounts what is counted over them.
//
// A record's row lies in exactly one of two tables of the same form. New rows go to `records`, whose pages thin out as contents
// become stubs. When a range has thinned out, a background pass moves its rows to `packed` in key order: that fills the pages
// there to the brim, and whole pages can be dropped here. When a range of `packed` thins out again, its rows move back.
// docs/design/0001 describes this.
//
// Pages of `chains` are compressed fast, since writers meet them again and again. Once many rows have come, a pass writes all
// pages anew and compresses them thoroughly.
#pragma once

#include "base/counters.h"
#include "storage/format/page_compressor.h"
#include "storage/format/record_format.h"

namespace storage {

struct Contents;

struct StoreTables {
  Table records;
  Table packed;
  Table heads;
  Table chains;
  Contents* contents = nullptr;
  CollectionId collection = 0;

  // Opens the tables, or creates them. page_layout explains `profile`. The caller may not be inside a transaction.
  static StoreTables open(Contents& contents, CollectionId collection, const std::string& profile);
};

// PageLayout says how a profile lays out the tables whose rows stay.
struct PageLayout {
  uint32_t settled_page_bytes = 128 << 10;  // on disk; the page in memory is up to four times that
  int settled_level = level_settled;
  bool dictionaries = true;
  bool columns = true;  // page_columns.h explains columns
};
PageLayout page_layout(const std::string& profile);

// Returns the names of a collection's tables, for callers that drop or measure them.
std::vector<std::string> store_table_names(CollectionId collection);

// StoreCounts says how much is stored, in rows and bytes.
struct StoreCounts {
  int64_t records = 0;        // records that can be read
  int64_t logical_bytes = 0;  // bytes of their contents
  int64_t raw_bytes = 0;      // bytes of whole contents in records' rows, and of pre-states there
  int64_t stubs = 0;
  int64_t heads = 0;
  int64_t chain_rows = 0;
  int64_t chain_bytes = 0;  // bytes of the chain rows' values
  int64_t dead = 0;         // chain rows that are kept only as bases
  int64_t dead_bytes = 0;
  int64_t thinned_bytes = 0;         // bytes of contents that left `records` since it was last packed
  int64_t thinned_packed_bytes = 0;  // the same of `packed`
  int64_t unsettled_bytes = 0;       // bytes of rows written to `chains` since it was last packed

  StoreCounts& operator+=(const StoreCounts& more);
  StoreCounts& operator-=(const StoreCounts& less);
  bool operator==(const StoreCounts&) const = default;
  // Returns the counts without what happened since a table was packed, since the rows don't show that.
  StoreCounts of_rows() const;
  // Returns the bytes of contents, deltas and their names, after dedup and before block compression.
  int64_t stored_bytes() const {
    return raw_bytes + 18 * (records - stubs) + 12 * stubs + chain_bytes + 10 * chain_rows + 8 * heads;
  }
};

Bytes write_counts(const StoreCounts& counts);
std::optional<StoreCounts> read_counts(BytesView bytes);

// StoreCounters holds StoreCounts that grow as transactions commit. This class is thread-safe.
class StoreCounters {
 public:
  void add(const StoreCounts& change);
  void add_after_commit(Transaction& transaction, const StoreCounts& change);
  void set(const StoreCounts& counts);
  StoreCounts get() const;

 private:
  base::Counter fields_[12];
};

}  // namespace storage
