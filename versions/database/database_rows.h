// The rows of the table `versions-databases` list the databases that have branches, and those that were dropped while snapshots
// showed them (docs/formats/branches.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "storage/collections/collection.h"

namespace versions {

using storage::Bytes;
using storage::BytesView;

// All functions that read throw DataCorruptionDetected if the row can't be one.
[[noreturn]] void database_list_is_damaged();

inline constexpr std::string_view next_database_key = "n";
Bytes write_next_database(uint32_t number);
uint32_t read_next_database(BytesView row);

struct DatabaseRow {
  uint32_t number = 0;
  std::map<storage::CollectionId, int64_t> holes;
};
Bytes database_key(std::string_view name);
Bytes write_database_row(const DatabaseRow& row);
DatabaseRow read_database_row(BytesView row);

struct KeptDatabaseRow {
  uint32_t number = 0;
  std::string name;
  std::vector<storage::CollectionId> collections;
};
Bytes kept_database_key(uint32_t number, std::string_view name);
Bytes write_kept_collections(const std::vector<storage::CollectionId>& collections);
KeptDatabaseRow read_kept_row(BytesView key, BytesView row);

}  // namespace versions
