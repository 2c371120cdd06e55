// Everything that is stored lies in ordered tables of bytes; this header is the interface to them.
//
// A table is a name in the engine. Its keys are sorted as memcmp sorts them. A read sees the transaction's snapshot and the
// transaction's own writes.
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
  // This names one of the engine's block compressors: "zstd", "snappy", "lz4" or "none".
  std::string block_compressor = "zstd";
  uint32_t leaf_page_bytes = 32 * 1024;
  uint32_t page_image_bytes = 0;          // a page that is read in is at most so large in memory; 0 means the engine's default
  uint32_t memory_page_bytes = 10 << 20;  // a larger page is split by the session that meets it
  uint32_t allocation_bytes = 4096;       // file space comes in such units; 512 is for tables whose ratio matters
  bool prefix_compression = false;        // it compresses keys; indexes use it
  // If this is set, commits survive by the journal. Otherwise, on a member of a replica set, they survive by the set's log, and
  // the table is made durable by checkpoints alone.
  bool always_journaled = false;
  // There are two of the table, so that a damaged page costs nothing: all writes go to both, and the next start replaces the
  // damaged one. This is for small tables without which much else can't be read.
  bool copied = false;
};

class TableCursor;

// The class is thread-safe, because it is only a name; all state is in the transaction.
class Table {
 public:
  Table() = default;
  explicit Table(std::string name) : name_(std::move(name)) {}
  // A table whose writes go to `copy` too.
  Table(std::string name, std::string copy) : name_(std::move(name)), copy_(std::move(copy)) {}
  const std::string& name() const { return name_; }  // "records-17" for example; the file has this name too
  bool exists() const { return !name_.empty(); }

  // The view is valid until the next call on this transaction's same table.
  std::optional<BytesView> get(Transaction& transaction, BytesView key) const;
  void put(Transaction& transaction, BytesView key, BytesView value) const;  // it inserts or overwrites
  // Returns false, and writes nothing, if the key is there already.
  bool insert(Transaction& transaction, BytesView key, BytesView value) const;
  bool remove(Transaction& transaction, BytesView key) const;  // it returns false if the key was not there
  // Removes every row with from <= key <= to; this is much cheaper than to remove the rows one by one.
  void truncate(Transaction& transaction, BytesView from, BytesView to) const;

  TableCursor cursor(Transaction& transaction) const;

 private:
  std::optional<Table> copy() const;

  std::string name_;
  std::string copy_;  // empty: there is none
};

// A TableCursor walks a table in key order. It belongs to the transaction: once that is over, the cursor can only be destroyed.
class TableCursor {
 public:
  TableCursor(TableCursor&&) noexcept;
  TableCursor& operator=(TableCursor&&) noexcept;
  ~TableCursor();

  // Each returns whether the cursor now stands on a row.
  bool seek(BytesView key);       // it goes to the first row with key >= `key`
  bool seek_back(BytesView key);  // it goes to the last row with key <= `key`
  bool next();                    // a fresh cursor starts before the first row
  bool previous();                // a fresh cursor starts behind the last row
  void reset();

  BytesView key() const;  // the view is valid until the cursor moves
  BytesView value() const;

 private:
  friend class Table;
  struct State;
  __wt_cursor* raw() const;
  explicit TableCursor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// These convert between a RecordId and its key. The keys are short, and are sorted as the numbers are (for ids >= 0).
Bytes record_key(RecordId id);
void append_record_key(Bytes& out, RecordId id);
RecordId record_from_key(BytesView key);

}  // namespace storage
