// The option `storageEngine` of create and createIndexes: settings for the engine under one table.
#pragma once

#include "bson/document.h"

namespace storage {

// Throws InvalidOptions, as MongoDB does, for an engine that is not there, and for settings: how tables are laid out is not for
// clients to say. `{}`, `{wiredTiger: {}}` and an empty `configString`, which tools send, say nothing.
void check_engine_option(bson::DocumentView storage_engine);

}  // namespace storage
