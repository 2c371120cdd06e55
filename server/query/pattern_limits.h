// A client's pattern may not try more ways to match than these limits allow: a search that does is an error, instead of taking
// minutes.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace server::query {

// For pcre2_match, which only reads it; nobody may change it. Thread-safe.
pcre2_match_context* pattern_limits();

}  // namespace server::query
