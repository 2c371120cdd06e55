// An update's description tells by paths what the update changed; it is made of the log's diff (bson/diff.h).
#pragma once

#include "bson/builder.h"

namespace server::query {

// Appends updatedFields, removedFields and truncatedArrays; with `disambiguate` also disambiguatedPaths, for paths that have a
// field whose name is a number or has a dot. Throws DataCorruptionDetected for a diff that is none.
void append_update_description(bson::DocumentView diff, bool disambiguate, bson::Builder& out);

}  // namespace server::query
