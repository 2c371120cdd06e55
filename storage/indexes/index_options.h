// Specifications before an index is built from them, and the changes of an index that need no rebuilding: the same whether
// collMod asks for them or the log does.
#pragma once

#include "storage/indexes/index.h"

namespace storage {

// One that has it already stays as it is.
void set_expiry(IndexSpec& spec, int64_t seconds);
void set_hidden(IndexSpec& spec, bool hidden);

// The specification without what `parse_index_spec` would refuse as unknown (197).
bson::Document without_unknown_options(bson::DocumentView spec);

}  // namespace storage
