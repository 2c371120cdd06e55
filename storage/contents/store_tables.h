// The tables of one collection's records, and what is counted over them.
//
// A record's row lies in exactly one of two tables of the same form. New ones
// go to `records`, whose pages thin out as contents become stubs. When a range
// has thinned out, its rows are moved over to the other table in key order,
// which fills pages to the brim there and leaves whole pages to be dropped here;
// when that range thins out again, it moves back. See docs/design/0001.
//
// Pages of `chains` are compressed fast, since whoever writes meets them again and again;
// once much has come, all of them are written anew, thoroughly.
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

  // Opens or makes them. `profile`: see page_layout. Not inside a transaction.
  static StoreTables open(Contents& contents, CollectionId collection, const std::string& profile);
};

// How a profile lays out the tables whose rows stay.
struct PageLayout {
  uint32_t settled_page_bytes = 128 << 10;  // on disk; the page itself is up to four times that
  int settled_level = level_settled;
  bool dictionaries = true;
  bool columns = true;  // page_columns.h
};
PageLayout page_layout(const std::string& profile);

// Names of a collection's tables, for whoever drops or measures them.
std::vector<std::string> store_table_names(CollectionId collection);

// What is stored, in rows and bytes.
struct StoreCounts {
  int64_t records = 0;        // that can be read
  int64_t logical_bytes = 0;  // of their contents
  int64_t raw_bytes = 0;      // of the contents that stand whole in a record's row, and of pre-states there
  int64_t stubs = 0;
  int64_t heads = 0;
  int64_t chain_rows = 0;
  int64_t chain_bytes = 0;  // of their values
  int64_t dead = 0;         // chain rows kept for others alone
  int64_t dead_bytes = 0;
  int64_t thinned_bytes = 0;         // of contents that left `records` since it was last packed
  int64_t thinned_packed_bytes = 0;  // and `packed`
  int64_t unsettled_bytes = 0;       // of rows that were written to `chains` since it was last packed

  StoreCounts& operator+=(const StoreCounts& more);
  StoreCounts& operator-=(const StoreCounts& less);
  bool operator==(const StoreCounts&) const = default;
  // Without what happened since a table was packed, which its rows don't tell.
  StoreCounts of_rows() const;
  // After dedup, before block compression: contents, deltas and what names them.
  int64_t stored_bytes() const {
    return raw_bytes + 18 * (records - stubs) + 12 * stubs + chain_bytes + 10 * chain_rows + 8 * heads;
  }
};

Bytes write_counts(const StoreCounts& counts);
std::optional<StoreCounts> read_counts(BytesView bytes);

// StoreCounts that grow as transactions commit. Thread-safe.
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
