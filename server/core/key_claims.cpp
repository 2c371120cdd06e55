#include "server/core/key_claims.h"

#include <algorithm>

#include "base/hash.h"
#include "storage/engine/transaction.h"
#include "storage/indexes/index_keys.h"

namespace server {

std::vector<WriteClaim> key_claims(const storage::Collection& collection, bson::DocumentView document) {
  std::vector<WriteClaim> claims;
  storage::IndexKeys keys;
  for (const auto& index : collection.indexes()) {
    if (!index->spec().unique) continue;
    storage::index_keys(index->spec(), document, keys);
    const uint64_t name = base::hash64(index->spec().name);
    // No record has a negative id.
    for (const base::Bytes& key : keys.keys)
      claims.push_back({collection.id(), static_cast<storage::RecordId>(base::hash64(key, name) | uint64_t{1} << 63)});
  }
  return claims;
}

void check_claims(const WriteClaims& claims, const storage::Collection& collection, std::optional<storage::RecordId> record,
                  const bson::DocumentView* document) {
  if (!claims.any()) return;
  std::vector<WriteClaim> all = document ? key_claims(collection, *document) : std::vector<WriteClaim>();
  if (record) all.push_back({collection.id(), *record});
  if (std::any_of(all.begin(), all.end(), [&](const WriteClaim& one) { return claims.claimed(one); }))
    throw storage::WriteConflict();
}

}  // namespace server
