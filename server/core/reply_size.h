// How large what a client is handed may be.
//
// Documents made on the way (of a $group, a projection, a $facet) have no limit of their own but memory; one that leaves the
// server has that of a stored one, and so has the reply as a whole, but for what stands around the documents.
#pragma once

#include "bson/document.h"

namespace server {

// The largest reply's body: a batch, or a document of the log, and what stands around it.
inline constexpr size_t reply_bytes_max = bson::document_bytes_max_internal + 16 * 1024;

// Throws BSONObjectTooLarge (10334) for a document of more than `bytes_max`.
void check_document_size(size_t bytes, size_t bytes_max = bson::document_bytes_max);

}  // namespace server
