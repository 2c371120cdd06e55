// The keys that a document has in the unique indexes of its collection, as claims (write_claims.h).
#pragma once

#include <optional>
#include <vector>

#include "bson/document.h"
#include "server/core/write_claims.h"
#include "storage/collections/collection.h"

namespace server {

// Returns a claim for each key, that of `_id` included. Two keys may have the same claim; then a writer waits although nobody has
// its key. The function computes the keys anew, as an insert does. Thread-safe.
std::vector<WriteClaim> key_claims(const storage::Collection& collection, bson::DocumentView document);

// Throws WriteConflict if somebody has claimed the record, or a key of the document. nullopt and nullptr stand for none. It costs
// a load while nobody commits. Thread-safe.
void check_claims(const WriteClaims& claims, const storage::Collection& collection, std::optional<storage::RecordId> record,
                  const bson::DocumentView* document);

}  // namespace server
