// Folding makes texts equal that differ in case or diacritics only: "École" and "ecole".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/language.h"

namespace text {

struct Folding {
  bool case_sensitive = false;
  bool diacritic_sensitive = false;
};

// Letters become their simple case foldings (in Turkish, I and İ have their own), and lose their diacritics. Where a text isn't
// UTF-8, U+FFFD stands in for it. Versions before the third fold A to Z and nothing else.
std::string fold(std::string_view text, const Language& language, int version, const Folding& folding);

// Returns whether `phrase` occurs in `text`, character by character, once both are folded.
bool has_phrase(std::string_view text, std::string_view phrase, const Language& language, int version, const Folding& folding);

}  // namespace text
