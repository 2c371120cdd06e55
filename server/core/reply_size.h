// This file has the limits of what a client receives.
//
// Documents that a pipeline makes on the way ($group, a projection, $facet) may have any size that fits into memory. A document
// that leaves the server has the limit of a stored one, and so has the reply as a whole, without the fields around its documents.
#pragma once

#include "bson/document.h"

namespace server {

// The largest body of a reply: a batch or a document of the log, and the fields around it.
inline constexpr size_t reply_bytes_max = bson::document_bytes_max_internal + 16 * 1024;

// Throws BSONObjectTooLarge (10334) for a document of more than `bytes_max`.
void check_document_size(size_t bytes, size_t bytes_max = bson::document_bytes_max);

}  // namespace server
