#include "storage/contents/unreadable_range.h"

#include <algorithm>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "storage/contents/content_reader.h"
#include "storage/contents/contents.h"

namespace storage {
namespace {

// Looks for the rows beside a damaged page, in one direction.
class Search {
 public:
  Search(const Table& table, Transaction& transaction, Direction direction)
      : cursor_(table.cursor(transaction)), up_(direction == Direction::forward) {}

  // Returns the first row that can be read; nullopt: there is none.
  std::optional<RecordId> from(RecordId record) {
    RecordId damaged = record, readable = record;
    const auto room = static_cast<uint64_t>(up_ ? record_id_max - record : record - record_id_min);
    for (uint64_t step = 1; !stands_at(readable); step *= 2) {
      damaged = readable;
      if (step > room) return std::nullopt;
      readable = up_ ? record + static_cast<RecordId>(step) : record - static_cast<RecordId>(step);
    }
    while (std::max(readable, damaged) - std::min(readable, damaged) > 1) {
      const RecordId between = damaged + (readable - damaged) / 2;
      (stands_at(between) ? readable : damaged) = between;
    }
    if (!stands_at(readable) || !on_row_) return std::nullopt;
    return record_from_key(cursor_.key());
  }
  BytesView row() const { return cursor_.value(); }

 private:
  // Returns whether the row there, or the next one in the direction, can be read.
  bool stands_at(RecordId record) {
    try {
      on_row_ = up_ ? cursor_.seek(record_key(record)) : cursor_.seek_back(record_key(record));
      return true;
    } catch (const base::OperationError& damage) {
      if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
      return false;
    }
  }

  TableCursor cursor_;
  const bool up_;
  bool on_row_ = false;
};

// Returns "record 17 ({_id: 5})", or "record 17" if its document can't be read either.
std::string describe(const StoreTables& tables, Transaction& transaction, RecordId record, BytesView bytes) {
  const std::string name = "record " + std::to_string(record);
  const Bytes copy(bytes);
  const auto row = parse_record_row(copy, record);
  if (!row) return name;
  Bytes content(row.value().content);
  if (row.value().form == RecordRow::Form::stub) {
    ContentReader reader(tables, transaction, tables.collection);
    auto decoded = reader.read({row.value().chain, {record, row.value().generation}});
    if (!decoded) return name;
    content = std::move(*decoded);
  }
  const auto document = bson::validate(content);
  if (!document || !document.value().has("_id")) return name;
  bson::Builder id;
  id.append("_id", document.value()["_id"]);
  return name + " (" + bson::to_shell(id.done().view()) + ")";
}

std::string range_text(const StoreTables& tables, Transaction& transaction, const Table& table, RecordId record) {
  Search down(table, transaction, Direction::backward), up(table, transaction, Direction::forward);
  const auto above = down.from(record), below = up.from(record);
  const std::string before = above ? describe(tables, transaction, *above, down.row()) : "";
  const std::string behind = below ? describe(tables, transaction, *below, up.row()) : "";
  std::string text = "the rows that can't be read ";
  if (above && below) {
    text += "lie between " + before + " and " + behind;
  } else if (above || below) {
    text += above ? "lie behind " + before : "lie before " + behind;
  } else {
    text += "are all rows of the table";
  }
  tables.contents->unreadable_ranges.add(table.name(), above.value_or(record_id_min - 1), below.value_or(record_id_max), text);
  return text;
}

}  // namespace

std::optional<std::string> UnreadableRanges::find(std::string_view table, RecordId record) const {
  const base::MutexLock lock(mutex_);
  const auto found = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    return range.table == table && range.above < record && record < range.below;
  });
  return found == ranges_.end() ? std::nullopt : std::optional(found->text);
}

void UnreadableRanges::add(std::string_view table, RecordId above, RecordId below, std::string text) {
  const base::MutexLock lock(mutex_);
  if (ranges_.size() < ranges_max) ranges_.push_back({std::string(table), above, below, std::move(text)});
}

void UnreadableRanges::forget() {
  const base::MutexLock lock(mutex_);
  ranges_.clear();
}

void throw_unreadable(const StoreTables& tables, Transaction& transaction, const Table& table, RecordId record,
                      const std::string& damage) {
  std::optional<std::string> text = tables.contents->unreadable_ranges.find(table.name(), record);
  try {
    if (!text) text = range_text(tables, transaction, table, record);
  } catch (const base::OperationError&) {
    // The error is about the rows; that nobody can say where they lie is no other error.
  }
  throw base::OperationError(base::ErrorCode::data_corruption_detected, text ? damage + "; " + *text : damage);
}

}  // namespace storage
