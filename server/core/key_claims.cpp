#include "server/core/key_claims.h"

#include <algorithm>

#include "base/hash.h"
#include "bson/keystring.h"
#include "storage/engine/transaction.h"
#include "storage/indexes/index_keys.h"

namespace server {

namespace {

// No record has a negative id.
WriteClaim claim_of(const storage::Collection& collection, base::BytesView key, uint64_t index) {
  return {collection.id(), static_cast<storage::RecordId>(base::hash64(key, index) | uint64_t{1} << 63)};
}

}  // namespace

std::vector<WriteClaim> key_claims(const storage::Collection& collection, bson::DocumentView document) {
  std::vector<WriteClaim> claims;
  // A clustered collection has no index on `_id`.
  bson::KeyString id;
  id.append(document.find("_id"));
  claims.push_back(claim_of(collection, id.bytes(), 0));
  storage::IndexKeys keys;
  for (const auto& index : collection.indexes()) {
    if (!index->spec().unique) continue;
    storage::index_keys(index->spec(), document, keys);
    const uint64_t name = base::hash64(index->spec().name, 1);
    for (const base::Bytes& key : keys.keys) claims.push_back(claim_of(collection, key, name));
  }
  return claims;
}

void check_key_claims(const WriteClaims& claims, const storage::Collection& collection, bson::DocumentView document) {
  if (!claims.any()) return;
  const std::vector<WriteClaim> keys = key_claims(collection, document);
  if (std::any_of(keys.begin(), keys.end(), [&](const WriteClaim& key) { return claims.claimed(key); }))
    throw storage::WriteConflict();
}

}  // namespace server
