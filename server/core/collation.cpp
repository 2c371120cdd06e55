#include "server/core/collation.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/text.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

// These languages have rules of their own; the manual lists them as collation locales.
constexpr std::string_view languages[] = {
    "af",  "am", "ar", "as",  "az", "be", "bg", "bn", "bo", "bs",  "ca", "chr", "cs", "cy", "da",  "de", "dsb",
    "dz",  "ee", "el", "en",  "eo", "es", "et", "fa", "fi", "fil", "fo", "fr",  "ga", "gl", "gu",  "ha", "haw",
    "he",  "hi", "hr", "hsb", "hu", "hy", "id", "ig", "is", "it",  "ja", "ka",  "kk", "kl", "km",  "kn", "ko",
    "kok", "ky", "lb", "lkt", "ln", "lo", "lt", "lv", "mk", "ml",  "mn", "mr",  "ms", "mt", "my",  "nb", "ne",
    "nl",  "nn", "om", "or",  "pa", "pl", "ps", "pt", "ro", "ru",  "se", "si",  "sk", "sl", "smn", "sq", "sr",
    "sv",  "sw", "ta", "te",  "th", "to", "tr", "ug", "uk", "ur",  "vi", "wae", "yi", "yo", "zh",  "zu"};
static_assert(std::is_sorted(std::begin(languages), std::end(languages)));

// A locale may have a script, a region and a variant behind its language. An `@` begins the language's own options.
bool is_locale(std::string_view text) {
  text = text.substr(0, text.find('@'));
  if (!std::binary_search(std::begin(languages), std::end(languages), text.substr(0, text.find('_')))) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c == '_' || (c < 0x80 && std::isalnum(c)); }) &&
         text.back() != '_';
}

void check_choice(const Arguments& arguments, std::string_view name, std::initializer_list<std::string_view> choices) {
  const auto given = arguments.string(name);
  if (!given || std::find(choices.begin(), choices.end(), *given) != choices.end()) return;
  throw OperationError(ErrorCode::bad_value, "Enumeration value '" + std::string(*given) + "' for field '" +
                                                 arguments.dotted(name) + "' is not a valid value.");
}

void check_strength(const Arguments& arguments) {
  const auto strength = arguments.integer("strength");
  if (!strength || (*strength >= 1 && *strength <= 5)) return;
  throw OperationError(ErrorCode::bad_value, "Enumeration value '" + std::to_string(*strength) + "' for field '" +
                                                 arguments.dotted("strength") + "' is not a valid value.");
}

}  // namespace

void check_collation(const bson::ValueView& collation) {
  if (collation.is_nullish()) return;
  if (!collation.is_object()) {
    throw OperationError(ErrorCode::type_mismatch, "BSON field 'collation' is the wrong type '" +
                                                       std::string(bson::type_name(collation.type())) +
                                                       "', expected type 'object'");
  }
  const bson::DocumentView fields = collation.as_document();
  if (fields.empty()) return;
  const Arguments arguments("collation", fields);
  arguments.only({"locale", "caseLevel", "caseFirst", "strength", "numericOrdering", "alternate", "maxVariable", "normalization",
                  "backwards", "version"});
  const std::string_view locale = arguments.required_string("locale");
  for (std::string_view flag : {"caseLevel", "numericOrdering", "normalization", "backwards"}) arguments.boolean(flag);
  check_strength(arguments);
  check_choice(arguments, "caseFirst", {"upper", "lower", "off"});
  check_choice(arguments, "alternate", {"non-ignorable", "shifted"});
  check_choice(arguments, "maxVariable", {"punct", "space"});
  arguments.string("version");
  if (locale == "simple") {
    if (fields.count() == 1) return;
    throw OperationError(ErrorCode::bad_value, "If locale=simple, no other fields should be present in: " + query::show(fields));
  }
  if (!is_locale(locale)) throw OperationError(ErrorCode::bad_value, "Field 'locale' is invalid in: " + query::show(fields));
  throw OperationError(
      ErrorCode::command_not_supported,
      "collations other than { locale: \"simple\" } are not supported, got locale '" + std::string(locale) + "'");
}

}  // namespace server
