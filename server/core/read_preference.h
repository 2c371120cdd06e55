// This file checks `$readPreference`, which every command may carry.
#pragma once

#include "bson/document.h"

namespace server {

// Throws MongoDB's error for a read preference that the server can't follow: TypeMismatch; BadValue for an unknown mode or for
// tags and staleness with the primary; 40414 without a mode; 51024 for a negative staleness; InvalidOptions for hedged reads of
// the primary.
void check_read_preference(const bson::ValueView& preference);

}  // namespace server
