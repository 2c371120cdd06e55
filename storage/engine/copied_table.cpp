#include "storage/engine/copied_table.h"

#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "storage/engine/internals.h"
#include "storage/engine/readable_rows.h"
#include "storage/engine/tables.h"

namespace storage {
namespace {

constexpr int log_restored = 7200511, log_put_together = 7200514;

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
  bool next() {
    if (!rows_) return false;
    const int64_t before = rows_->holes();
    const bool more = rows_->next();
    behind_hole_ = rows_->holes() != before;
    return more;
  }
  bool opens() const { return rows_.has_value(); }
  // Returns whether there may be other rows between the last row and this one, or the end.
  bool behind_hole() const { return behind_hole_; }
  BytesView key() const { return rows_->key(); }
  BytesView value() const { return rows_->value(); }
  bool sound() const { return rows_ && rows_->holes() == 0; }
  bool same_row(const Walk& other) const { return rows_->key() == other.rows_->key() && rows_->value() == other.rows_->value(); }

 private:
  std::optional<ReadableRows> rows_;
  bool behind_hole_ = false;
};

struct Comparison {
  bool table_sound = false;
  bool copy_sound = false;
  bool same = true;
};

Comparison compare(Engine& engine, const std::string& table, const std::string& copy) {
  Walk one(engine, Table(table)), other(engine, Table(copy));
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

// Returns all rows of two damaged tables that have the same rows, if each row can be read in one of them. What is damaged in one
// lies between two of its rows: the other one must have no damage from the first to the second. Otherwise returns nullopt.
std::optional<Tables::RowList> put_together(Engine& engine, const std::string& table, const std::string& copy) {
  Walk one(engine, Table(table)), other(engine, Table(copy));
  if (!one.opens() || !other.opens()) return std::nullopt;
  Tables::RowList rows;
  bool more = one.next(), more_copied = other.next();
  for (;;) {
    if (one.behind_hole() && other.behind_hole()) return std::nullopt;
    const bool same_place = more && more_copied ? one.key() == other.key() : more == more_copied;
    if (same_place) {
      if (!more) return rows;
      if (!one.same_row(other)) return std::nullopt;
      rows.emplace_back(one.key(), one.value());
      more = one.next();
      more_copied = other.next();
      continue;
    }
    // The one that is behind has rows that the other one can't have, unless they lie in a hole of it.
    const bool one_first = more && (!more_copied || one.key() < other.key());
    Walk &first = one_first ? one : other, &second = one_first ? other : one;
    if (!second.behind_hole()) return std::nullopt;
    rows.emplace_back(first.key(), first.value());
    (one_first ? more : more_copied) = first.next();
  }
}

[[noreturn]] void fail_both(const std::string& name) {
  throw base::OperationError(
      base::ErrorCode::data_corruption_detected,
      "the table " + name + " is damaged, and there is no sound copy: restore a backup, or copy the data of another member");
}

void make_same(Engine& engine, const std::string& name, const std::string& copy) {
  const Comparison found = compare(engine, name, copy);
  if (found.table_sound && found.copy_sound && found.same) return;
  if (!found.table_sound && !found.copy_sound) {
    const auto rows = put_together(engine, name, copy);
    if (!rows) fail_both(name);
    base::log(
        base::Severity::warning, base::LogComponent::storage, log_put_together,
        "Two tables that have the same rows are both damaged, but not in the same places; they are made anew from each other",
        base::Attributes().add("table", name).add("rows", static_cast<int64_t>(rows->size())));
    engine.internals().tables.replace_rows(engine, name, *rows);
    engine.internals().tables.replace_rows(engine, copy, *rows);
    return;
  }
  const std::string &from = found.table_sound ? name : copy, &to = found.table_sound ? copy : name;
  base::log(base::Severity::warning, base::LogComponent::storage, log_restored,
            "One of two tables that have the same rows is damaged or behind; it is made anew from the other",
            base::Attributes().add("table", to).add("from", from));
  engine.internals().tables.replace_rows(engine, to, from);
}

}  // namespace

Table open_copied(Engine& engine, const std::string& name, const TableOptions& options) {
  Tables& tables = engine.internals().tables;
  const std::string copy = copy_name(name);
  if (!tables.exists(name)) {
    tables.open(name, options);
    tables.open(copy, options);
  } else if (tables.exists(copy)) {
    tables.open(name, options);
    tables.open(copy, options);
    make_same(engine, name, copy);
  } else {
    // The copy appears with all of its rows, since an empty one that a crash left would count as whole.
    if (!can_be_read(engine, tables.open(name, options))) fail_both(name);
    tables.describe(copy, options);
    tables.replace_rows(engine, copy, name);
  }
  return {name, copy};
}

}  // namespace storage
