// An update's description tells by paths what the update changed; it is made of the log's diff (bson/diff.h).
#pragma once

#include "bson/builder.h"

namespace server::query {

// Appends updatedFields, removedFields and truncatedArrays; with `disambiguate` also disambiguatedPaths, for paths that have a
// field whose name is a number or has a dot. A path is repeated for each field below it, so a description may be far larger than
// its diff: throws BSONObjectTooLarge (10334) beyond `bytes_max`. Throws DataCorruptionDetected for a diff that is none.
void append_update_description(bson::DocumentView diff, bool disambiguate, size_t bytes_max, bson::Builder& out);

}  // namespace server::query
