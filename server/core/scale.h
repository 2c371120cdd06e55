// Sizes in the unit the client asked for.
#pragma once

#include <cstdint>

#include "server/core/arguments.h"

namespace bson {
class Builder;
}

namespace server {

// `scale`, at least 1; 1 when not given. Throws 51024 as MongoDB does.
int64_t scale_of(const Arguments& arguments);

// The narrowest whole number that holds it, as statistics are given.
void append_count(bson::Builder& out, std::string_view name, int64_t value);

}  // namespace server
