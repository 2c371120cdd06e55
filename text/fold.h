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

// A phrase is looked for in many texts.
class Phrase {
 public:
  Phrase(std::string_view phrase, int version, const Folding& folding);

  // Returns whether the phrase occurs in `text`, character by character, once both are folded as the text's language says. It
  // takes time in proportion to the text and the phrase, whatever they are.
  bool occurs_in(std::string_view text, const Language& language) const;

 private:
  int version_;
  Folding folding_;
  std::string folded_, folded_in_turkish_;  // other languages fold alike
};

}  // namespace text
