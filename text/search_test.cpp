#include "text/search.h"

#include <catch2/catch.hpp>

namespace text {
namespace {

using Strings = std::set<std::string>;
using Phrases = std::vector<std::string>;

Search parse(std::string_view search, Folding folding = {}) {
  return parse_search(search, *find_language("none"), 3, folding);
}

}  // namespace

TEST_CASE("a search has terms, phrases, and what must not occur") {
  const Search found = parse("Coffee \"à la carte\" -syrup");
  CHECK(found.terms == Strings{"coffee", "a", "la", "carte"});
  CHECK(found.negated_terms == Strings{"syrup"});
  CHECK(found.phrases == Phrases{"à la carte"});
  CHECK(found.negated_phrases.empty());
}

TEST_CASE("a minus negates up to the next space, if it begins a word") {
  CHECK(parse("-foo-bar baz").negated_terms == Strings{"foo", "bar"});
  CHECK(parse("-foo-bar baz").terms == Strings{"baz"});
  CHECK(parse("foo-bar").terms == Strings{"foo", "bar"});
  CHECK(parse("- foo").terms == Strings{"foo"});
  CHECK(parse("-\"a b\" c").negated_phrases == Phrases{"a b"});
  CHECK(parse("-\"a b\" c").terms == Strings{"c"});
  CHECK(parse("\"a -b\"").phrases == Phrases{"a -b"});
}

TEST_CASE("a phrase that doesn't end is no phrase") {
  CHECK(parse("\"a b").phrases.empty());
  CHECK(parse("\"a b").terms == Strings{"a", "b"});
}

TEST_CASE("the index is searched for folded terms, whatever counts") {
  const Search found = parse("Café", {.case_sensitive = true, .diacritic_sensitive = true});
  CHECK(found.index_terms == Strings{"cafe"});
  CHECK(found.terms == Strings{"Café"});
}

TEST_CASE("a phrase is found as it stands in the text") {
  const Language& none = *find_language("none");
  CHECK(Phrase("cafe", 3, {}).occurs_in("Un CAFÉ  noir", none));
  CHECK_FALSE(Phrase("cafe noir", 3, {}).occurs_in("Un CAFÉ  noir", none));
  CHECK_FALSE(Phrase("cafe", 3, {.diacritic_sensitive = true}).occurs_in("Un CAFÉ", none));
  CHECK_FALSE(Phrase("cafe", 3, {.case_sensitive = true}).occurs_in("Un CAFÉ", none));
  CHECK(Phrase("", 3, {}).occurs_in("", none));
}

TEST_CASE("a phrase is folded as the text's language says") {
  const Phrase phrase("DIŞ", 3, {});
  CHECK(phrase.occurs_in("dış", *find_language("turkish")));
  CHECK_FALSE(phrase.occurs_in("diş", *find_language("turkish")));
  CHECK(phrase.occurs_in("diş", *find_language("none")));
}

// A phrase could begin at each letter of this text, and comparing it there would take a quarter of an hour.
TEST_CASE("a phrase of one letter many times is found in the time that it takes to read the text") {
  const std::string text(8 << 20, 'a');
  CHECK_FALSE(Phrase(std::string(4 << 20, 'a') + "b", 3, {}).occurs_in(text, *find_language("none")));
  CHECK(Phrase(std::string(4 << 20, 'a'), 3, {}).occurs_in(text, *find_language("none")));
}

}  // namespace text
