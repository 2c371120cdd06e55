#include "server/commands/shared/storage_sizes.h"

#include "storage/contents/store_tables.h"
#include "storage/store.h"

namespace server {

StorageSizes& StorageSizes::operator+=(const StorageSizes& more) {
  records_bytes += more.records_bytes;
  records_free_bytes += more.records_free_bytes;
  indexes_bytes += more.indexes_bytes;
  indexes_free_bytes += more.indexes_free_bytes;
  return *this;
}

StorageSizes sizes_of(const storage::Store& store, const storage::Collection& collection) {
  StorageSizes sizes;
  for (const auto& table : storage::store_table_names(collection.id())) {
    sizes.records_bytes += store.engine().file_bytes(table);
    sizes.records_free_bytes += store.engine().reusable_bytes(table);
  }
  for (const auto& index : collection.indexes()) {
    sizes.indexes_bytes += store.engine().file_bytes(index->table().name());
    sizes.indexes_free_bytes += store.engine().reusable_bytes(index->table().name());
  }
  return sizes;
}

}  // namespace server
