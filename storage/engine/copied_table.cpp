#include "storage/engine/copied_table.h"

#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "storage/engine/internals.h"
#include "storage/engine/readable_rows.h"
#include "storage/engine/tables.h"

namespace storage {
namespace {

constexpr int log_restored = 7200511;

// Walks a table that may be damaged.
class Walk {
 public:
  Walk(Engine& engine, const Table& table) {
    try {
      rows_.emplace(engine, table);
    } catch (const base::OperationError& damage) {
      if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
    }
  }
  bool next() { return rows_ && rows_->next(); }
  bool sound() const { return rows_ && rows_->holes() == 0; }
  bool same_row(const Walk& other) const { return rows_->key() == other.rows_->key() && rows_->value() == other.rows_->value(); }

 private:
  std::optional<ReadableRows> rows_;
};

struct Comparison {
  bool table_sound = false;
  bool copy_sound = false;
  bool same = true;
};

Comparison compare(Engine& engine, const Table& table, const Table& copy) {
  Walk one(engine, table), other(engine, copy);
  Comparison found;
  for (;;) {
    const bool more = one.next(), more_copied = other.next();
    if (!more && !more_copied) break;
    found.same = found.same && more && more_copied && one.same_row(other);
  }
  found.table_sound = one.sound();
  found.copy_sound = other.sound();
  return found;
}

}  // namespace

Table keep_copy(Engine& engine, const Table& table, const Table& copy, bool is_new) {
  const Comparison found = compare(engine, table, copy);
  if (!found.table_sound && (!found.copy_sound || is_new)) {
    throw base::OperationError(
        base::ErrorCode::data_corruption_detected,
        "the table " + table.name() + " is damaged, and so is its copy: restore a backup, or copy the data of another member");
  }
  const bool restores = !found.table_sound;
  if (restores || !found.copy_sound || !found.same) {
    if (!is_new) {
      base::log(base::Severity::warning, base::LogComponent::storage, log_restored,
                "A table is damaged; it is made anew from its copy",
                base::Attributes().add("table", restores ? table.name() : copy.name()));
    }
    Tables& tables = engine.internals().tables;
    tables.replace_rows(engine, restores ? table.name() : copy.name(), restores ? copy.name() : table.name());
  }
  return {table.name(), copy.name()};
}

}  // namespace storage
