#include "text/fold.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstring>

namespace text {
namespace {

constexpr std::string_view turkish_code = "tr";

const UNormalizer2* decomposer() {
  static const UNormalizer2* const normalizer = [] {
    UErrorCode status = U_ZERO_ERROR;
    return unorm2_getNFDInstance(&status);
  }();
  return normalizer;
}

void append(std::string& out, UChar32 letter) {
  char bytes[U8_MAX_LENGTH];
  int32_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, letter);
  out.append(bytes, static_cast<size_t>(length));
}

// Appends the letter without its diacritics. One that decomposes into several letters stays whole.
void append_bare(std::string& out, UChar32 letter) {
  if (u_hasBinaryProperty(letter, UCHAR_DIACRITIC)) return;
  if (letter < 0x80) return append(out, letter);
  UErrorCode status = U_ZERO_ERROR;
  UChar parts[32];
  const int32_t length = decomposer() ? unorm2_getDecomposition(decomposer(), letter, parts, 32, &status) : -1;
  if (length <= 0 || U_FAILURE(status)) return append(out, letter);
  UChar32 bare = 0;
  int left = 0;
  for (int32_t i = 0; i < length;) {
    UChar32 part;
    U16_NEXT(parts, i, length, part);
    if (u_hasBinaryProperty(part, UCHAR_DIACRITIC)) continue;
    bare = part;
    ++left;
  }
  if (left == 1) return append(out, bare);
  if (left > 1) append(out, letter);
}

char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

}  // namespace

std::string fold(std::string_view text, const Language& language, int version, const Folding& folding) {
  std::string out;
  out.reserve(text.size());
  const bool turkish = language.code == turkish_code;
  const bool old = version < 3;
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  const auto length = static_cast<int32_t>(std::min<size_t>(text.size(), INT32_MAX));
  for (int32_t i = 0; i < length;) {
    const char c = text[static_cast<size_t>(i)];
    if (old || (static_cast<uint8_t>(c) < 0x80 && c != '^' && c != '`' && !turkish)) {
      out += folding.case_sensitive ? c : ascii_lower(c);
      ++i;
      continue;
    }
    UChar32 letter;
    U8_NEXT_OR_FFFD(bytes, i, length, letter);
    if (!folding.case_sensitive) {
      letter = u_foldCase(letter, turkish ? U_FOLD_CASE_EXCLUDE_SPECIAL_I : U_FOLD_CASE_DEFAULT);
    }
    folding.diacritic_sensitive ? append(out, letter) : append_bare(out, letter);
  }
  return out;
}

Phrase::Phrase(std::string_view phrase, int version, const Folding& folding)
    : version_(version),
      folding_(folding),
      folded_(fold(phrase, english(), version, folding)),
      folded_in_turkish_(fold(phrase, {.name = "turkish", .code = turkish_code}, version, folding)) {}

bool Phrase::occurs_in(std::string_view text, const Language& language) const {
  const std::string& phrase = language.code == turkish_code ? folded_in_turkish_ : folded_;
  const std::string folded = fold(text, language, version_, folding_);
  // std::string::find compares the whole phrase again at each place where it could begin.
  return ::memmem(folded.data(), folded.size(), phrase.data(), phrase.size()) != nullptr;
}

}  // namespace text
