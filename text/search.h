// A search string, taken apart:
//
//   coffee "à la carte" -syrup        any of coffee, carte (terms); the phrase; and nothing with syrup
//
// A minus at the beginning of a word or a phrase negates it. Terms in phrases are terms, too, but a negated phrase gives none.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/fold.h"

namespace text {

struct Search {
  std::set<std::string> index_terms;  // what indexes hold of the terms: without case and diacritics
  std::set<std::string> terms;        // in the form in which they are compared
  std::set<std::string> negated_terms;
  std::vector<std::string> phrases;
  std::vector<std::string> negated_phrases;
};

// It is called for each term that a set gets.
using EachTerm = std::function<void(std::string_view term)>;

// Parsing ends with the exception that `each` throws: a search string may have millions of terms.
Search parse_search(std::string_view search, const Language& language, int version, const Folding& folding,
                    const EachTerm& each = {});

}  // namespace text
