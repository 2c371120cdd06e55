// The option `storageEngine` of create and createIndexes holds settings for the engine under one table.
#pragma once

#include "bson/document.h"

namespace storage {

// Throws InvalidOptions, as MongoDB does, for an engine that doesn't exist, and for settings, because clients don't decide how
// tables are laid out. `{}`, `{wiredTiger: {}}` and an empty `configString`, which tools send, contain no settings.
void check_engine_option(bson::DocumentView storage_engine);

}  // namespace storage
