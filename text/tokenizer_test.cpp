#include "text/tokenizer.h"

#include <catch2/catch.hpp>

#include "text/stop_words.h"

namespace text {
namespace {

std::string terms(std::string_view text, const char* language = "english", int version = 3, Folding folding = {}) {
  std::string all;
  each_term(text, *find_language(language), version, folding, [&](std::string_view term) {
    all.append(all.empty() ? "" : " ").append(term);
    return true;
  });
  return all;
}

}  // namespace

TEST_CASE("words lose their case, their ending and their diacritics") {
  CHECK(terms("The tasty COFFEES, and a Café!") == "tasti coffe cafe");
  CHECK(terms("running runs ran") == "run run ran");
  CHECK(terms("") == "");
  CHECK(terms(" ,;- ") == "");
  CHECK(terms("école ÉCOLE", "french") == "ecol ecol");
  CHECK(terms("Die Häuser", "german") == "haus");
  CHECK(terms("И и ДОМА", "none") == "и и дома");
  CHECK(terms("The running", "none") == "the running");
}

TEST_CASE("delimiters are those of Unicode") {
  CHECK(terms("il «était» le—mieux", "none") == "il etait le mieux");
  CHECK(terms("a_b c.d e-f", "none") == "a_b c d e f");
  CHECK(terms("it's don't qu'il", "none") == "it s don t qu il");
  CHECK(terms("o'neill") == "o'neil");
  CHECK(terms("東京、大阪", "none") == "東京 大阪");
}

TEST_CASE("case and diacritics may count") {
  CHECK(terms("Café CAFÉ", "none", 3, {.case_sensitive = true}) == "Cafe CAFE");
  CHECK(terms("Café CAFÉ", "none", 3, {.diacritic_sensitive = true}) == "café café");
  CHECK(terms("Café", "none", 3, {.case_sensitive = true, .diacritic_sensitive = true}) == "Café");
}

TEST_CASE("older versions know the letters of ASCII alone") {
  CHECK(terms("CAFÉ «Tea»", "none", 2) == "cafÉ «tea»");
  CHECK(terms("a-b.c", "none", 2) == "a b c");
}

TEST_CASE("Turkish has two letters i") {
  CHECK(fold("ISI İ", *find_language("turkish"), 3, {.diacritic_sensitive = true}) == "ısı i");
  CHECK(fold("ISI", english(), 3, {}) == "isi");
}

TEST_CASE("text that isn't UTF-8 has terms, too") {
  CHECK_FALSE(terms("abc\xff\xfe def", "none").empty());
  CHECK_FALSE(terms("\xc3", "none").empty());
}

TEST_CASE("languages have names and codes, in any case") {
  CHECK(find_language("English") == &english());
  CHECK(find_language("EN") == &english());
  CHECK(find_language("nb") == find_language("norwegian"));
  CHECK(find_language("klingon") == nullptr);
  CHECK(find_language("") == nullptr);
}

TEST_CASE("every language but Turkish and none has stop words") {
  CHECK(is_stop_word(english(), "the"));
  CHECK_FALSE(is_stop_word(english(), "coffee"));
  CHECK(is_stop_word(*find_language("russian"), "и"));
  CHECK_FALSE(is_stop_word(*find_language("none"), "the"));
  const auto has_stop_words = [](const char* name, const char* word) { return is_stop_word(*find_language(name), word); };
  CHECK(has_stop_words("danish", "og"));
  CHECK(has_stop_words("dutch", "het"));
  CHECK(has_stop_words("finnish", "ja"));
  CHECK(has_stop_words("french", "dans"));
  CHECK(has_stop_words("german", "der"));
  CHECK(has_stop_words("hungarian", "az"));
  CHECK(has_stop_words("italian", "della"));
  CHECK(has_stop_words("norwegian", "og"));
  CHECK(has_stop_words("portuguese", "uma"));
  CHECK(has_stop_words("spanish", "los"));
  CHECK(has_stop_words("swedish", "och"));
}

}  // namespace text
