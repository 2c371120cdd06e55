#include "text/tokenizer.h"

#include <libstemmer.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>

#include "text/stop_words.h"

namespace text {
namespace {

struct StemmerDeleter {
  void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
};

// A stemmer keeps the word it works on, so each thread has its own.
sb_stemmer* stemmer_of(const Language& language) {
  thread_local std::map<std::string_view, std::unique_ptr<sb_stemmer, StemmerDeleter>> stemmers;
  const auto found = stemmers.find(language.name);
  if (found != stemmers.end()) return found->second.get();
  sb_stemmer* made = language.code == "none" ? nullptr : sb_stemmer_new(std::string(language.name).c_str(), "UTF_8");
  stemmers[language.name].reset(made);
  return made;
}

std::string stem(const Language& language, std::string word) {
  sb_stemmer* const stemmer = stemmer_of(language);
  if (!stemmer) return word;
  const auto* stemmed = sb_stemmer_stem(stemmer, reinterpret_cast<const sb_symbol*>(word.data()), static_cast<int>(word.size()));
  if (!stemmed) return word;
  return std::string(reinterpret_cast<const char*>(stemmed), static_cast<size_t>(sb_stemmer_length(stemmer)));
}

bool is_delimiter(UChar32 c) {
  constexpr UProperty properties[] = {
      UCHAR_DASH, UCHAR_HYPHEN, UCHAR_PATTERN_SYNTAX, UCHAR_QUOTATION_MARK, UCHAR_TERMINAL_PUNCTUATION, UCHAR_WHITE_SPACE};
  return std::any_of(std::begin(properties), std::end(properties), [&](UProperty one) { return u_hasBinaryProperty(c, one); });
}

// Delimiters of the versions before the third are in ASCII.
bool is_old_delimiter(char c) {
  constexpr std::string_view delimiters = " \f\v\t\r\n'~`!@#$%^&*()-=+[]{}|\\;:\"<>,./?";
  return delimiters.find(c) != delimiters.npos;
}

// Words come one after the other.
class Words {
 public:
  Words(std::string_view text, const Language& language, int version)
      : text_(text.substr(0, INT32_MAX)), keeps_apostrophe_(language.code == "en"), old_(version < 3) {}

  bool next(std::string_view& word) {
    int32_t behind = at_;
    while (at_ < size() && delimits(at_, behind)) at_ = behind;
    const int32_t from = at_;
    while (at_ < size() && !delimits(at_, behind)) at_ = behind;
    word = text_.substr(static_cast<size_t>(from), static_cast<size_t>(at_ - from));
    return !word.empty();
  }

 private:
  int32_t size() const { return static_cast<int32_t>(text_.size()); }

  // Returns whether the character at `from` is a delimiter, and where the next one begins.
  bool delimits(int32_t from, int32_t& behind) {
    const char c = text_[static_cast<size_t>(from)];
    if (c == '\'' && keeps_apostrophe_) return behind = from + 1, false;
    if (old_) return behind = from + 1, is_old_delimiter(c);
    if (static_cast<uint8_t>(c) < 0x80) return behind = from + 1, ascii_delimiters()[static_cast<uint8_t>(c)];
    UChar32 letter;
    int32_t i = from;
    U8_NEXT_OR_FFFD(reinterpret_cast<const uint8_t*>(text_.data()), i, size(), letter);
    behind = i;
    return is_delimiter(letter);
  }

  static const std::array<bool, 128>& ascii_delimiters() {
    static const std::array<bool, 128> table = [] {
      std::array<bool, 128> table{};
      for (size_t c = 0; c < table.size(); ++c) table[c] = is_delimiter(static_cast<UChar32>(c));
      return table;
    }();
    return table;
  }

  const std::string_view text_;
  const bool keeps_apostrophe_;
  const bool old_;
  int32_t at_ = 0;
};

}  // namespace

void each_term(std::string_view text, const Language& language, int version, const Folding& folding,
               const std::function<bool(std::string_view)>& each) {
  Words words(text, language, version);
  for (std::string_view word; words.next(word);) {
    // The lists of stop words, and the rules for stems, are about words with their diacritics.
    std::string term = fold(word, language, version, {.case_sensitive = false, .diacritic_sensitive = true});
    if (is_stop_word(language, term)) continue;
    if (folding.case_sensitive) term = word;
    term = stem(language, std::move(term));
    if (version >= 3 && !folding.diacritic_sensitive) {
      term = fold(term, language, version, {.case_sensitive = true, .diacritic_sensitive = false});
    }
    if (!term.empty() && !each(term)) return;
  }
}

}  // namespace text
