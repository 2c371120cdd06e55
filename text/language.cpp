#include "text/language.h"

#include <algorithm>

namespace text {
namespace {

constexpr Language languages[] = {
    {"none", "none"},  {"danish", "da"},    {"dutch", "nl"},   {"english", "en"},   {"finnish", "fi"},    {"french", "fr"},
    {"german", "de"},  {"hungarian", "hu"}, {"italian", "it"}, {"norwegian", "nb"}, {"portuguese", "pt"}, {"romanian", "ro"},
    {"russian", "ru"}, {"spanish", "es"},   {"swedish", "sv"}, {"turkish", "tr"},
};

bool same(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

const Language* find_language(std::string_view name) {
  for (const Language& language : languages) {
    if (same(language.name, name) || same(language.code, name)) return &language;
  }
  return nullptr;
}

const Language& english() {
  static const Language& found = *find_language("english");
  return found;
}

}  // namespace text
