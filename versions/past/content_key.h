// A content key names one content of a record in the tables `past-chains` and `past-purged`: collection 4, record 8, generation
// 8, each with its highest byte first.
#pragma once

#include <tuple>

#include "base/bytes.h"
#include "versions/past/mapping.h"

namespace versions::past {

using ContentName = std::tuple<storage::CollectionId, storage::RecordId, storage::Stamp>;

base::Bytes content_key(storage::CollectionId collection, const Mapping& mapping);
// Throws DataCorruptionDetected for what is no such key.
ContentName read_content_key(base::BytesView key);

}  // namespace versions::past
