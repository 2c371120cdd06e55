#include "versions/past/content_key.h"

#include "base/error.h"
#include "storage/collections/catalog_rows.h"

namespace versions::past {

base::Bytes content_key(storage::CollectionId collection, const Mapping& mapping) {
  base::Bytes key = storage::catalog_key(collection);
  base::append_be64(key, static_cast<uint64_t>(mapping.row));
  base::append_be64(key, mapping.content);
  return key;
}

ContentName read_content_key(base::BytesView key) {
  if (key.size() != content_key(0, {}).size())
    throw base::OperationError(base::ErrorCode::data_corruption_detected, "a row of what was purged from snapshots is damaged");
  const char* const record = key.data() + sizeof(storage::CollectionId);
  return {__builtin_bswap32(base::load_le<uint32_t>(key.data())), static_cast<RecordId>(base::load_be64(record)),
          base::load_be64(record + sizeof(RecordId))};
}

}  // namespace versions::past
