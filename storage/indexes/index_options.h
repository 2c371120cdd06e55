// These functions clean specifications before an index is built from them, and make the changes of an index that need no rebuild.
// Such a change is the same whether collMod or the log requests it.
#pragma once

#include "storage/indexes/index.h"

namespace storage {

// An index that has the value already stays as it is.
void set_expiry(IndexSpec& spec, int64_t seconds);
void set_hidden(IndexSpec& spec, bool hidden);
void set_prepare_unique(IndexSpec& spec, bool prepares);
// Makes the index unique; this alone needs a rebuild.
void set_unique(IndexSpec& spec);

// Returns whether the index refuses new documents under a key that is there already, though it isn't unique.
bool prepares_unique(const IndexSpec& spec);

// Returns the specification without the fields that `parse_index_spec` would refuse as unknown (197).
bson::Document without_unknown_options(bson::DocumentView spec);

}  // namespace storage
