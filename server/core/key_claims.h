// The keys that a document has in the unique indexes of its collection, as claims (write_claims.h).
#pragma once

#include <vector>

#include "bson/document.h"
#include "server/core/write_claims.h"
#include "storage/collections/collection.h"

namespace server {

// Returns a claim for each key, that of `_id` included. Two keys may have the same claim: then a writer waits for nothing. It
// computes the keys anew, as an insert does. Thread-safe.
std::vector<WriteClaim> key_claims(const storage::Collection& collection, bson::DocumentView document);

// Throws WriteConflict if somebody has claimed such a key. It costs a load while nobody commits.
void check_key_claims(const WriteClaims& claims, const storage::Collection& collection, bson::DocumentView document);

}  // namespace server
