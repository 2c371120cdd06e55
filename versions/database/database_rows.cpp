#include "versions/database/database_rows.h"

#include <limits>

#include "base/error.h"
#include "base/varint.h"
#include "storage/collections/catalog_rows.h"

namespace versions {
namespace {

uint64_t take(BytesView& bytes, uint64_t most) {
  const auto number = base::take_varint(bytes);
  if (!number || *number > most) database_list_is_damaged();
  return *number;
}

uint32_t take_number(BytesView& bytes) {
  return static_cast<uint32_t>(take(bytes, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

void database_list_is_damaged() {
  throw base::OperationError(base::ErrorCode::data_corruption_detected, "the list of branched databases can't be read");
}

Bytes write_next_database(uint32_t number) {
  Bytes row;
  base::append_varint(row, number);
  return row;
}

uint32_t read_next_database(BytesView row) {
  const uint32_t number = take_number(row);
  if (!row.empty()) database_list_is_damaged();
  return number;
}

Bytes database_key(std::string_view name) {
  Bytes key(1, 'd');
  key.append(name);
  return key;
}

Bytes write_database_row(const DatabaseRow& row) {
  Bytes out;
  base::append_varint(out, row.number);
  for (const auto& [collection, holes] : row.holes) {
    base::append_varint(out, collection);
    base::append_varint(out, static_cast<uint64_t>(holes));
  }
  return out;
}

DatabaseRow read_database_row(BytesView bytes) {
  DatabaseRow row{.number = take_number(bytes), .holes = {}};
  while (!bytes.empty()) {
    const storage::CollectionId collection = take_number(bytes);
    row.holes[collection] = static_cast<int64_t>(take(bytes, std::numeric_limits<int64_t>::max()));
  }
  return row;
}

Bytes kept_database_key(uint32_t number, std::string_view name) {
  Bytes key(1, 'k');
  return key.append(storage::catalog_key(number)).append(name);
}

Bytes write_kept_collections(const std::vector<storage::CollectionId>& collections) {
  Bytes row;
  for (const storage::CollectionId id : collections) base::append_varint(row, id);
  return row;
}

KeptDatabaseRow read_kept_row(BytesView key, BytesView value) {
  constexpr size_t behind_number = 1 + sizeof(uint32_t);
  if (key.size() <= behind_number) database_list_is_damaged();
  KeptDatabaseRow row{__builtin_bswap32(base::load_le<uint32_t>(key.data() + 1)), std::string(key.substr(behind_number)), {}};
  while (!value.empty()) row.collections.push_back(take_number(value));
  return row;
}

}  // namespace versions
