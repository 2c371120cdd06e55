// ReadableRows walks the rows of a table in key order, and steps over the damaged pages that it meets.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "storage/engine/table.h"

namespace storage {

// Rows with keys behind `from` and before `to` may be missing.
struct Hole {
  Bytes from;               // empty: it begins with the table
  std::optional<Bytes> to;  // nullopt: it goes to the table's end
};

// The walk is one read transaction. It throws DataCorruptionDetected only if the table can't be opened at all.
class ReadableRows {
 public:
  ReadableRows(Engine& engine, const Table& table);

  // Steps to the next row that can be read; returns false at the end, and goes on doing so.
  bool next();
  BytesView key() const { return rows_->key(); }
  BytesView value() const { return rows_->value(); }
  int64_t holes() const { return static_cast<int64_t>(all_holes_.size()); }  // so many were stepped over
  const std::vector<Hole>& all_holes() const { return all_holes_; }

 private:
  bool step();
  bool behind_hole();
  std::optional<bool> seek(const Bytes& place);  // nullopt: the page there is damaged

  const Table table_;
  Transaction transaction_;
  std::optional<TableCursor> rows_;
  Bytes last_;  // the key of the newest row
  std::vector<Hole> all_holes_;
  bool over_ = false;
};

// Goes from a row whose next one can't be read to the first place behind the damage. `seek` goes to the first row that isn't
// before a place, and returns whether there is one; nullopt means that the page there is damaged. Returns nullopt if nothing can
// be read up to the end.
std::optional<Bytes> behind_damage(BytesView last, const std::function<std::optional<bool>(const Bytes& place)>& seek);

// Returns whether it can be said if the table has this row.
bool can_be_read(Engine& engine, const Table& table, BytesView key);

// Returns whether the table can be read from its first row to its last.
bool can_be_read(Engine& engine, const Table& table);

}  // namespace storage
