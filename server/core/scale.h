// These functions show sizes in the unit that the client asked for.
#pragma once

#include <cstdint>

#include "server/core/arguments.h"

namespace bson {
class Builder;
}

namespace server {

// Returns `scale`, at least 1; 1 if it is missing. Throws 51024 as MongoDB does.
int64_t scale_of(const Arguments& arguments);

// Appends the value as the narrowest whole number that holds it, as statistics do.
void append_count(bson::Builder& out, std::string_view name, int64_t value);

}  // namespace server
