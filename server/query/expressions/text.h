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
// Return the first and the last code point of a text that isn't empty.
std::string_view first_point(std::string_view text);
std::string_view last_point(std::string_view text);
// The code points that $trim takes away if it isn't told which.
const std::vector<std::string>& whitespace_points();

// Returns what $toUpper, $substr and $concat-like operators make of a value: "" for null and missing, numbers and dates as text.
// Throws 16007 for a type without text.
std::string coerce_to_string(const bson::ValueView& value);
// Writes the number as $toString and shells do.
std::string number_text(const bson::ValueView& number);
// Throws 18537 for a year that isn't written: those from 0 to 9999 are.
void check_formatted_year(int64_t year);
// Returns "2026-11-20T10:15:00.123Z". Throws what check_formatted_year throws.
std::string iso_date(bson::Date date);

}  // namespace server::query
