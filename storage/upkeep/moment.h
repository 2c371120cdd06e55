// A moment of the log, as people write it for a restore.
#pragma once

#include <string>
#include <string_view>

#include "storage/engine/record_id.h"

namespace storage {

// Reads "1700000000:5", a timestamp's seconds since 1970 and its count, or a date as "2024-02-29T12:00:00Z", which is the last
// moment of that second. Throws BadValue for another text and for a date with a part of a second, which timestamps don't have.
Stamp parse_moment(std::string_view text);

std::string moment_text(Stamp moment);  // "1700000000:5"

}  // namespace storage
