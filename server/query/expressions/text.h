// Expressions see text as code points, and show other types as strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bson/document.h"

namespace server::query {

size_t code_points(std::string_view text);
// Returns the byte at which the n-th code point begins; the end if there are fewer.
size_t byte_of_point(std::string_view text, size_t n);
std::vector<std::string> split_points(std::string_view text);
const std::vector<std::string>& whitespace_points();

// Returns what $toUpper, $substr and $concat-like operators make of a value: "" for null and missing, numbers and dates as text.
// Throws 16007 for a type without text.
std::string coerce_to_string(const bson::ValueView& value);
// Writes the number as $toString and shells do.
std::string number_text(const bson::ValueView& number);
// Returns "2026-11-20T10:15:00.123Z".
std::string iso_date(bson::Date date);

}  // namespace server::query
