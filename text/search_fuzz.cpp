// The input says a language, the version of an index, and what counts (a byte each), and goes on with a text, which is searched
// for and searched in.
//
// Nothing is refused. Terms are the same however they are asked for, phrases are parts of the text and occur in it, and what is
// folded stays as it is when it is folded again.
#include "text/search.h"

#include <unicode/utf8.h>

#include <algorithm>

#include "base/fuzz_target.h"
#include "text/tokenizer.h"

namespace {

using namespace text;
using base::BytesView;
using base::check;

constexpr const char* languages[] = {"english", "none", "turkish", "german", "french", "russian", "finnish", "portuguese"};

bool is_utf8(std::string_view text) {
  const auto length = static_cast<int32_t>(text.size());
  for (int32_t i = 0; i < length;) {
    UChar32 letter;
    U8_NEXT(reinterpret_cast<const uint8_t*>(text.data()), i, length, letter);
    if (letter < 0) return false;
  }
  return true;
}

std::vector<std::string> terms_of(std::string_view text, const Language& language, int version, const Folding& folding,
                                  size_t most = SIZE_MAX) {
  std::vector<std::string> terms;
  each_term(text, language, version, folding, [&](std::string_view term) {
    check(!term.empty(), "a term has letters");
    // Where all counts, a term is as it was written.
    if (version >= 3 && !(folding.case_sensitive && folding.diacritic_sensitive)) check(is_utf8(term), "a term is UTF-8");
    terms.emplace_back(term);
    return terms.size() < most;
  });
  return terms;
}

void check_phrase(std::string_view text, std::string_view phrase, const Language& language, int version, const Folding& folding) {
  check(text.find(phrase) != text.npos, "a phrase is a part of its search");
  check(version >= 3 && !is_utf8(phrase) ? true : Phrase(phrase, version, folding).occurs_in(phrase, language),
        "a phrase occurs in itself");
}

bool run(BytesView input) {
  if (input.size() < 3) return false;
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(input[at]); };
  const Language& language = *find_language(languages[byte(0) % std::size(languages)]);
  const int version = 1 + byte(1) % version_newest;
  const Folding folding{.case_sensitive = (byte(2) & 1) != 0, .diacritic_sensitive = (byte(2) & 2) != 0};
  const std::string_view text = input.substr(3);

  const std::string folded = fold(text, language, version, folding);
  // Turkish alone knows the small letter of U+0130, which is a capital I without its dot elsewhere.
  if (text.find("\xc4\xb0") == text.npos)
    check(fold(folded, language, version, folding) == folded, "what is folded stays as it is");
  if (version >= 3) check(is_utf8(folded), "what is folded is UTF-8");

  const auto terms = terms_of(text, language, version, folding);
  if (!terms.empty()) check(terms_of(text, language, version, folding, 1).size() == 1, "terms end where they are told to");

  std::set<std::string> told;
  const Search search = parse_search(text, language, version, folding, [&](std::string_view term) { told.emplace(term); });
  for (const auto* some : {&search.index_terms, &search.terms, &search.negated_terms}) {
    for (const std::string& term : *some) check(!term.empty() && told.contains(term), "each term of a search is told");
  }
  for (const auto* some : {&search.phrases, &search.negated_phrases}) {
    for (const std::string& phrase : *some) check_phrase(text, phrase, language, version, folding);
  }
  if (text.find_first_of("\"-") == text.npos)
    check(std::set(terms.begin(), terms.end()) == search.terms, "a search for plain words has the terms of a text");
  if (!told.empty()) {
    check(base::refuses([&] {
            parse_search(text, language, version, folding,
                         [](std::string_view) { throw base::OperationError(base::ErrorCode::bad_value, "enough"); });
          }),
          "a search ends where it is told to");
  }
  return true;
}

std::vector<base::Bytes> seeds() {
  const auto seed = [](char language, char version, char folding, const char* text) {
    return base::Bytes{language, version, folding} + text;
  };
  return {seed(0, 2, 0, "The tasty coffees, \xc3\xa0 la carte"),
          seed(0, 2, 0, "coffee \"\xc3\xa0 la carte\" -syrup -\"too sweet\" it's -foo-bar - baz"),
          seed(0, 0, 0, "Coffee's caf\xc3\xa9, \"old rules\" -NOT"),
          seed(2, 2, 2, "I\xc4\xb0 \xc4\xb1i DI\xc5\x9e"),
          seed(3, 2, 1,
               "Stra\xc3\x9f"
               "e \xc3\x84pfel und e\xcc\x81"),
          seed(5, 2, 3, "\xd0\xbe\xd0\xb1 \xd1\x8d\xd1\x82\xd0\xbe\xd0\xbc \xff\xfe \xed\xa0\x80"),
          seed(1, 1, 0, "open \"quote -never closed")};
}

const base::FuzzTarget target("search", run, seeds);

}  // namespace
