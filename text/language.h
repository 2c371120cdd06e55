// The languages of text indexes: each has rules for stems, and words that count for nothing.
#pragma once

#include <string_view>

namespace text {

// The versions of text indexes (textIndexVersion). The newest knows case and diacritics of all letters, and delimiters of all
// scripts; those before it know ASCII's.
inline constexpr int version_newest = 3;

struct Language {
  std::string_view name;  // "english"; "none" has neither stems nor stop words
  std::string_view code;  // "en"
};

// Finds a language by name or code, in any case; nullptr: there is no such language.
const Language* find_language(std::string_view name);
const Language& english();

}  // namespace text
