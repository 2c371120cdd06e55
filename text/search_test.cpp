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
  CHECK(has_phrase("Un CAFÉ  noir", "cafe", none, 3, {}));
  CHECK_FALSE(has_phrase("Un CAFÉ  noir", "cafe noir", none, 3, {}));
  CHECK_FALSE(has_phrase("Un CAFÉ", "cafe", none, 3, {.diacritic_sensitive = true}));
  CHECK_FALSE(has_phrase("Un CAFÉ", "cafe", none, 3, {.case_sensitive = true}));
}

}  // namespace text
