// These functions read the options of clustered collections.
#pragma once

#include <cstdint>
#include <optional>

#include "bson/document.h"

namespace base {
class Clock;
}

namespace server {

class Arguments;

// Returns `clusteredIndex: {key, name, unique}` as listCollections shows it; nullopt: the collection isn't clustered. Throws
// MongoDB's errors for a bad specification, and for sizes of capped collections beside it.
std::optional<bson::Document> parse_clustered_option(const Arguments& arguments, bool capped);

// Returns `expireAfterSeconds` of a whole collection; nullopt: it is missing. Throws InvalidOptions for what is no age
// by this clock.
std::optional<int64_t> parse_expiry_option(const Arguments& arguments, const base::Clock& clock);

}  // namespace server
