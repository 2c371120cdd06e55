// collMod's entry of the log has this document, which says what it changed.
#pragma once

#include "bson/document.h"

namespace storage {

struct CollectionEntry;

// {collectionOptions_old: {uuid, …}, indexOptions_old: {…}}; the latter is missing if no option of an index changes. `entry` is
// the collection's before the change.
bson::Document state_before(const CollectionEntry& entry, bson::DocumentView index_options);

}  // namespace storage
