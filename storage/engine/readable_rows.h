// ReadableRows walks the rows of a table in key order, and steps over the damaged pages that it meets.
#pragma once

#include <optional>

#include "storage/engine/table.h"

namespace storage {

// The walk is one read transaction. It throws DataCorruptionDetected only if the table can't be opened at all.
class ReadableRows {
 public:
  ReadableRows(Engine& engine, const Table& table);

  // Steps to the next row that can be read; returns false at the end, and goes on doing so.
  bool next();
  BytesView key() const { return rows_->key(); }
  BytesView value() const { return rows_->value(); }
  int64_t holes() const { return holes_; }  // so many gaps were stepped over

 private:
  bool step();
  bool behind_hole();
  std::optional<bool> seek(const Bytes& place);  // nullopt: the page there is damaged

  const Table table_;
  Transaction transaction_;
  std::optional<TableCursor> rows_;
  Bytes last_;  // the key of the newest row
  int64_t holes_ = 0;
  bool over_ = false;
};

// Returns whether the table can be read from its first row to its last.
bool can_be_read(Engine& engine, const Table& table);

}  // namespace storage
