#include "bson/collation.h"

#include <unicode/ucol.h>
#include <unicode/uenum.h>
#include <unicode/uloc.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>

#include "base/error.h"
#include "base/mutex.h"
#include "bson/json.h"

namespace bson {
namespace {

using base::ErrorCode;
using base::OperationError;

// MongoDB was built with this version of ICU, and shows it; clients send it back.
constexpr std::string_view shown_version = "57.1";

// These languages have rules of their own; the manual lists them as collation locales.
constexpr std::string_view languages[] = {
    "af",  "am", "ar", "as",  "az", "be", "bg", "bn", "bo", "bs",  "ca", "chr", "cs", "cy", "da",  "de", "dsb",
    "dz",  "ee", "el", "en",  "eo", "es", "et", "fa", "fi", "fil", "fo", "fr",  "ga", "gl", "gu",  "ha", "haw",
    "he",  "hi", "hr", "hsb", "hu", "hy", "id", "ig", "is", "it",  "ja", "ka",  "kk", "kl", "km",  "kn", "ko",
    "kok", "ky", "lb", "lkt", "ln", "lo", "lt", "lv", "mk", "ml",  "mn", "mr",  "ms", "mt", "my",  "nb", "ne",
    "nl",  "nn", "om", "or",  "pa", "pl", "ps", "pt", "ro", "ru",  "se", "si",  "sk", "sl", "smn", "sq", "sr",
    "sv",  "sw", "ta", "te",  "th", "to", "tr", "ug", "uk", "ur",  "vi", "wae", "yi", "yo", "zh",  "zu"};
static_assert(std::is_sorted(std::begin(languages), std::end(languages)));

struct Choice {
  std::string_view name;
  int32_t value;
};
constexpr Choice case_firsts[] = {{"off", UCOL_OFF}, {"upper", UCOL_UPPER_FIRST}, {"lower", UCOL_LOWER_FIRST}};
constexpr Choice alternates[] = {{"non-ignorable", UCOL_NON_IGNORABLE}, {"shifted", UCOL_SHIFTED}};
constexpr Choice max_variables[] = {{"punct", UCOL_REORDER_CODE_PUNCTUATION}, {"space", UCOL_REORDER_CODE_SPACE}};
constexpr Choice strengths[] = {
    {"1", UCOL_PRIMARY}, {"2", UCOL_SECONDARY}, {"3", UCOL_TERTIARY}, {"4", UCOL_QUATERNARY}, {"5", UCOL_IDENTICAL}};

// Said holds the parts that a specification gives. A part that it lacks is the locale's default.
struct Said {
  std::string locale;
  std::optional<int32_t> strength, case_first, alternate, max_variable;
  std::optional<bool> case_level, numeric_ordering, normalization, backwards;
  std::optional<std::string> version;
};

[[noreturn]] void bad(const std::string& message) {
  throw OperationError(ErrorCode::bad_value, message);
}

std::string dotted(const Element& field) {
  return "collation." + std::string(field.name);
}

[[noreturn]] void wrong_type(const Element& field, std::string_view expected) {
  throw OperationError(ErrorCode::type_mismatch, "BSON field '" + dotted(field) + "' is the wrong type '" +
                                                     std::string(type_name(field.type())) + "', expected type" +
                                                     std::string(expected));
}

bool flag(const Element& field) {
  if (field.type() != Type::boolean) wrong_type(field, " 'bool'");
  return field.as_bool();
}

std::string text(const Element& field) {
  if (field.type() != Type::string) wrong_type(field, " 'string'");
  return std::string(field.as_string());
}

int32_t choice(const Element& field, std::string_view given, std::span<const Choice> choices) {
  for (const Choice& one : choices) {
    if (one.name == given) return one.value;
  }
  bad("Enumeration value '" + std::string(given) + "' for field '" + dotted(field) + "' is not a valid value.");
}

int32_t strength(const Element& field) {
  if (!field.is_number()) wrong_type(field, "s '[long, int, decimal, double]'");
  return choice(field, std::to_string(field.to_int64()), strengths);
}

void read(const Element& field, Said& said) {
  if (field.is_nullish()) return;
  const std::string_view name = field.name;
  if (name == "locale") {
    said.locale = text(field);
  } else if (name == "caseLevel") {
    said.case_level = flag(field);
  } else if (name == "caseFirst") {
    said.case_first = choice(field, text(field), case_firsts);
  } else if (name == "strength") {
    said.strength = strength(field);
  } else if (name == "numericOrdering") {
    said.numeric_ordering = flag(field);
  } else if (name == "alternate") {
    said.alternate = choice(field, text(field), alternates);
  } else if (name == "maxVariable") {
    said.max_variable = choice(field, text(field), max_variables);
  } else if (name == "normalization") {
    said.normalization = flag(field);
  } else if (name == "backwards") {
    said.backwards = flag(field);
  } else if (name == "version") {
    said.version = text(field);
  } else {
    throw OperationError(40415, "BSON field '" + dotted(field) + "' is an unknown field.");
  }
}

Said read_all(DocumentView specification) {
  Said said;
  for (auto at = specification.begin(); at != specification.end(); ++at) {
    for (auto before = specification.begin(); before != at; ++before) {
      if (before->name == at->name) throw OperationError(40413, "BSON field '" + dotted(*at) + "' is a duplicate field");
    }
    read(*at, said);
  }
  if (specification.find("locale").is_nullish())
    throw OperationError(40414, "BSON field 'collation.locale' is missing but a required field");
  return said;
}

// Returns whether ICU knows this order of the language: "phonebook" for German.
bool has_order(const std::string& language, std::string_view order) {
  UErrorCode status = U_ZERO_ERROR;
  UEnumeration* known = ucol_getKeywordValuesForLocale("collation", language.c_str(), false, &status);
  bool found = false;
  int32_t length = 0;
  while (const char* one = U_SUCCESS(status) ? uenum_next(known, &length, &status) : nullptr) found = found || order == one;
  uenum_close(known);
  return found;
}

// A locale is a language, with a script, a region, a variant, and after an @ one of the language's orders: in the form that ICU
// itself gives it.
bool is_locale(const std::string& locale) {
  constexpr size_t longest = 100;
  const std::string_view base = std::string_view(locale).substr(0, locale.find('@'));
  if (locale.size() > longest || locale.find('\0') != std::string::npos) return false;
  if (!std::binary_search(std::begin(languages), std::end(languages), base.substr(0, base.find('_')))) return false;
  char canonical[longest + 60];
  UErrorCode status = U_ZERO_ERROR;
  const int32_t length = uloc_canonicalize(locale.c_str(), canonical, sizeof canonical, &status);
  if (U_FAILURE(status) || std::string_view(canonical, static_cast<size_t>(length)) != locale) return false;
  if (base.size() == locale.size()) return true;
  constexpr std::string_view keyword = "@collation=";
  const std::string_view order = std::string_view(locale).substr(base.size());
  return order.starts_with(keyword) && has_order(std::string(base), order.substr(keyword.size()));
}

void check(const Said& said, DocumentView specification) {
  if (!is_locale(said.locale)) bad("Field 'locale' is invalid in: " + to_shell(specification));
  if (said.version && *said.version != shown_version) {
    throw OperationError(ErrorCode::incompatible_collation_version,
                         "Requested collation version '" + *said.version + "' but the only available collator version was '" +
                             std::string(shown_version) + "'. Requested collation spec: " + to_shell(specification));
  }
}

// A client can't ask for what its other wishes leave without effect. A locale's own defaults may have none.
void check_together(const Said& said, const UCollator* collator) {
  UErrorCode status = U_ZERO_ERROR;
  const auto value = [&](UColAttribute attribute) { return ucol_getAttribute(collator, attribute, &status); };
  const bool primary = value(UCOL_STRENGTH) == UCOL_PRIMARY, secondary = value(UCOL_STRENGTH) == UCOL_SECONDARY;
  if (said.backwards == true && primary) bad("'backwards' is invalid with 'strength' of 1");
  const bool cased = said.case_first && *said.case_first != UCOL_OFF;
  if (cased && value(UCOL_CASE_LEVEL) == UCOL_OFF && (primary || secondary))
    bad("'caseFirst' is invalid unless 'caseLevel' is on or 'strength' is greater than 2");
}

std::string_view name_of(int32_t value, std::span<const Choice> choices) {
  for (const Choice& one : choices) {
    if (one.value == value) return one.name;
  }
  return choices.front().name;
}

Document normal_form(const std::string& locale, const UCollator* collator) {
  UErrorCode status = U_ZERO_ERROR;
  const auto value = [&](UColAttribute attribute) { return ucol_getAttribute(collator, attribute, &status); };
  Builder out;
  out.append("locale", locale).append("caseLevel", value(UCOL_CASE_LEVEL) == UCOL_ON);
  out.append("caseFirst", name_of(value(UCOL_CASE_FIRST), case_firsts));
  out.append("strength", value(UCOL_STRENGTH) == UCOL_IDENTICAL ? 5 : static_cast<int32_t>(value(UCOL_STRENGTH)) + 1);
  out.append("numericOrdering", value(UCOL_NUMERIC_COLLATION) == UCOL_ON);
  out.append("alternate", name_of(value(UCOL_ALTERNATE_HANDLING), alternates));
  out.append("maxVariable", name_of(ucol_getMaxVariable(collator), max_variables));
  out.append("normalization", value(UCOL_NORMALIZATION_MODE) == UCOL_ON);
  out.append("backwards", value(UCOL_FRENCH_COLLATION) == UCOL_ON).append("version", shown_version);
  base::check(U_SUCCESS(status), "a collator says its attributes");
  return out.done();
}

CollatorPtr open(const Said& said, DocumentView specification) {
  UErrorCode status = U_ZERO_ERROR;
  struct Closer {
    void operator()(UCollator* collator) const { ucol_close(collator); }
  };
  std::unique_ptr<UCollator, Closer> collator(ucol_open(said.locale.c_str(), &status));
  const auto set = [&](UColAttribute attribute, std::optional<int32_t> value) {
    if (value) ucol_setAttribute(collator.get(), attribute, static_cast<UColAttributeValue>(*value), &status);
  };
  const auto set_flag = [&](UColAttribute attribute, std::optional<bool> value) {
    if (value) set(attribute, *value ? UCOL_ON : UCOL_OFF);
  };
  if (U_FAILURE(status)) bad("Field 'locale' is invalid in: " + to_shell(specification));
  set(UCOL_STRENGTH, said.strength);
  set(UCOL_CASE_FIRST, said.case_first);
  set(UCOL_ALTERNATE_HANDLING, said.alternate);
  if (said.max_variable) ucol_setMaxVariable(collator.get(), static_cast<UColReorderCode>(*said.max_variable), &status);
  set_flag(UCOL_CASE_LEVEL, said.case_level);
  set_flag(UCOL_NUMERIC_COLLATION, said.numeric_ordering);
  set_flag(UCOL_NORMALIZATION_MODE, said.normalization);
  set_flag(UCOL_FRENCH_COLLATION, said.backwards);
  if (U_FAILURE(status))
    throw OperationError(ErrorCode::internal_error, "ICU can't make the collation " + to_shell(specification));
  check_together(said, collator.get());
  Document normal = normal_form(said.locale, collator.get());
  return std::make_shared<const Collator>(collator.release(), std::move(normal));
}

// Making a collator takes a hundred microseconds, so the last ones are remembered, by the bytes of their specifications.
class Remembered {
 public:
  std::optional<CollatorPtr> find(BytesView specification) {
    const base::ReaderLock lock(mutex_);
    const auto found = collators_.find(specification);
    return found == collators_.end() ? std::nullopt : std::optional(found->second);
  }
  void add(BytesView specification, const CollatorPtr& collator) {
    constexpr size_t most = 256;
    const base::WriterLock lock(mutex_);
    if (collators_.size() >= most) collators_.clear();
    collators_.emplace(Bytes(specification), collator);
  }

 private:
  base::SharedMutex mutex_;
  std::map<Bytes, CollatorPtr, std::less<>> collators_ GUARDED_BY(mutex_);
};

Remembered& remembered() {
  static Remembered all;
  return all;
}

}  // namespace

CollatorPtr collator_of(DocumentView specification) {
  if (auto known = remembered().find(specification.bytes())) return *std::move(known);
  const Said said = read_all(specification);
  if (said.locale == "simple") {
    if (specification.count() == 1) return nullptr;
    bad("If locale=simple, no other fields should be present in: " + to_shell(specification));
  }
  check(said, specification);
  CollatorPtr collator = open(said, specification);
  remembered().add(specification.bytes(), collator);
  return collator;
}

GivenCollation parse_collation(const ValueView& specification) {
  if (specification.is_nullish()) return std::nullopt;
  if (!specification.is_object()) {
    throw OperationError(ErrorCode::type_mismatch, "BSON field 'collation' is the wrong type '" +
                                                       std::string(type_name(specification.type())) +
                                                       "', expected type 'object'");
  }
  if (specification.as_document().empty()) return std::nullopt;
  return collator_of(specification.as_document());
}

}  // namespace bson
