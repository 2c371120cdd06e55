// collMod, and its entry in the log, name the options of a collection that change.
#pragma once

#include <string_view>

#include "bson/document.h"

namespace storage {

struct CollectionOptions;

// The limits of a capped collection have other names there than among its options.
inline constexpr std::string_view capped_size_change = "cappedSize", capped_max_change = "cappedMax";

// Changes the options. "off" takes the age of expiry away, and 0 documents take that limit of a capped collection away.
void alter_option_document(CollectionOptions& options, bson::DocumentView changes);

}  // namespace storage
