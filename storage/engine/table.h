// The lower waist: everything stored is an ordered table of bytes.
//
// A table is a name in the engine. Keys sort by memcmp. Reads see the
// transaction's snapshot and its own writes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "storage/engine/transaction.h"

struct __wt_cursor;

namespace storage {

using base::Bytes;
using base::BytesView;

struct TableOptions {
  // Of the engine's block compressors: "zstd", "snappy", "lz4", "none".
  std::string block_compressor = "zstd";
  uint32_t leaf_page_bytes = 32 * 1024;
  uint32_t page_image_bytes = 0;          // largest in-memory image of a page read in; 0: the engine's default
  uint32_t memory_page_bytes = 10 << 20;  // a page that grew larger is split, at the cost of who meets it
  uint32_t allocation_bytes = 4096;       // unit of file space: 512 where the ratio matters
  bool prefix_compression = false;        // of keys: for indexes
  // A commit survives by the journal; else, on a member of a replica set, by the set's log, and the table by checkpoints alone.
  bool always_journaled = false;
};

class TableCursor;

// Thread-safe: a name; all state is in the transaction.
class Table {
 public:
  Table() = default;
  explicit Table(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }  // "records-17": also the file's name
  bool exists() const { return !name_.empty(); }

  // The view is valid until the next call on this transaction's same table.
  std::optional<BytesView> get(Transaction& transaction, BytesView key) const;
  void put(Transaction& transaction, BytesView key, BytesView value) const;  // insert or overwrite
  // false, and nothing written, where the key is there.
  bool insert(Transaction& transaction, BytesView key, BytesView value) const;
  bool remove(Transaction& transaction, BytesView key) const;  // false: was not there
  // Removes every row with from <= key <= to, much cheaper than one by one.
  void truncate(Transaction& transaction, BytesView from, BytesView to) const;

  TableCursor cursor(Transaction& transaction) const;

 private:
  std::string name_;
};

// Walks a table in key order. Borrowed from the transaction: dead once that is over, and then
// good for nothing but to be destroyed.
class TableCursor {
 public:
  TableCursor(TableCursor&&) noexcept;
  TableCursor& operator=(TableCursor&&) noexcept;
  ~TableCursor();

  // Each returns whether the cursor now stands on a row.
  bool seek(BytesView key);       // the first row with key >= `key`
  bool seek_back(BytesView key);  // the last row with key <= `key`
  bool next();                    // from before the first on a fresh cursor
  bool previous();                // from behind the last on a fresh cursor
  void reset();

  BytesView key() const;  // valid until the cursor moves
  BytesView value() const;

 private:
  friend class Table;
  struct State;
  __wt_cursor* raw() const;
  explicit TableCursor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// RecordId <-> key bytes: short, and sorted as the numbers are (for ids >= 0).
Bytes record_key(RecordId id);
void append_record_key(Bytes& out, RecordId id);
RecordId record_from_key(BytesView key);

}  // namespace storage
