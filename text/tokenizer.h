// A text becomes terms: it is cut at delimiters, and each word loses its case, its ending and its diacritics. Stop words are no
// terms.
//
//   "The tasty coffees, à la carte"  ->  tasti  coffe  la  cart
#pragma once

#include <functional>
#include <string_view>

#include "text/fold.h"

namespace text {

// Calls `each` with the terms in their order, until it returns false. A term is valid during its call.
void each_term(std::string_view text, const Language& language, int version, const Folding& folding,
               const std::function<bool(std::string_view)>& each);

}  // namespace text
