// The marker of a copy that is complete (docs/formats/sync-marker.md).
//
//   "PCPY" | 01 | files varint | { name length varint | name | bytes varint } … | carried length varint | carried | checksum 8
#pragma once

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "storage/upkeep/backup.h"

namespace storage {

struct CopyMarker {
  std::vector<BackupFile> files;
  base::Bytes carried;  // These bytes belong to the owner of the copy; nothing here reads them.
  bool operator==(const CopyMarker& other) const;
};

base::Bytes encode_marker(const CopyMarker& marker);
// nullopt: the marker is damaged. Throws UnsupportedFormat for another version.
std::optional<CopyMarker> decode_marker(base::BytesView bytes);

}  // namespace storage
