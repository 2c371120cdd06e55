// Stop words are so common that a search for them would find everything: "the", "and". They are no terms.
#pragma once

#include <string_view>

#include "text/language.h"

namespace text {

// `word` is in lower case, with its diacritics. Turkish and "none" have no stop words.
bool is_stop_word(const Language& language, std::string_view word);

// The lists one after the other: each has the language's name, the words, and an empty line. stop_words.pl makes it.
extern const std::string_view stop_word_lists;

}  // namespace text
