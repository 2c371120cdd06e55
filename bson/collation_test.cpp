#include "bson/collation.h"

#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/keystring.h"

namespace bson {
namespace {

CollatorPtr collator(const std::string& text) {
  return collator_of(json(text));
}

std::string refused(const std::string& text) {
  try {
    parse_collation(json("{collation: " + text + "}").view().first());
  } catch (const base::OperationError& error) {
    return error.what();
  }
  return "accepted";
}

int sign(int order) {
  return order < 0 ? -1 : order > 0;
}

// Returns a text of a few characters that collations treat differently.
std::string any_text(std::mt19937_64& random) {
  static const std::string parts[] = {"a", "A", "á",  "Á", "b", "B", "1",    "10", "2", " ",
                                      "-", "ß", "ss", "é", "e", "",  "\xff", "日", "😀"};
  std::string text;
  for (auto left = random() % 5; left > 0; --left) text += parts[random() % std::size(parts)];
  if (random() % 16 == 0) text += std::string(1, '\0');
  if (random() % 16 == 0) text += std::string(400, 'x');
  return text;
}

Value any_value(std::mt19937_64& random, int depth) {
  switch (random() % (depth > 0 ? 6 : 4)) {
    case 0: return Value(static_cast<int32_t>(random() % 3));
    case 1: return Value::null();
    case 4: {
      Builder out;
      for (auto left = random() % 3; left > 0; --left) out.append(random() % 2 ? "x" : "X", any_value(random, depth - 1));
      return Value(out.done());
    }
    case 5: {
      ArrayBuilder out;
      for (auto left = random() % 3; left > 0; --left) out.append(any_value(random, depth - 1));
      return out.done_value();
    }
    default: return Value(any_text(random));
  }
}

constexpr const char* specifications[] = {
    "{locale: 'en'}",
    "{locale: 'en', strength: 1}",
    "{locale: 'en', strength: 2}",
    "{locale: 'en', strength: 5}",
    "{locale: 'en', strength: 1, caseLevel: true}",
    "{locale: 'en', caseFirst: 'upper'}",
    "{locale: 'en', numericOrdering: true}",
    "{locale: 'en', alternate: 'shifted', maxVariable: 'space'}",
    "{locale: 'en', alternate: 'shifted', strength: 4, normalization: true}",
    "{locale: 'fr_CA'}",
    "{locale: 'da'}",
    "{locale: 'th'}",
    "{locale: 'ja'}",
    "{locale: 'de@collation=phonebook'}",
};

}  // namespace

TEST_CASE("comparing values, comparing their keys and comparing their collated forms are the same order") {
  for (const char* specification : specifications) {
    INFO(specification);
    const CollatorPtr by = collator(specification);
    std::mt19937_64 random(7);
    for (int i = 0; i < 3000; ++i) {
      const Value a = any_value(random, 2), b = any_value(random, 2);
      INFO(to_json(a.view()) << " and " << to_json(b.view()));
      const int order = sign(compare(a, b, by.get()));
      REQUIRE(sign(compare(b, a, by.get())) == -order);
      REQUIRE(sign(compare(collated(a, *by).view(), collated(b, *by).view())) == order);
      const Bytes key_a = KeyString().append(a, false, by.get()).bytes(), key_b = KeyString().append(b, false, by.get()).bytes();
      REQUIRE(sign(key_a.compare(key_b)) == order);
      REQUIRE(key_a == KeyString().append(collated(a, *by)).bytes());
      if (order == 0) REQUIRE(hash_value(a, 3, by.get()) == hash_value(b, 3, by.get()));
    }
  }
}

TEST_CASE("without a collation bytes are compared") {
  CHECK(parse_collation(ValueView()) == std::nullopt);
  CHECK(parse_collation(json("{collation: {}}").view().first()) == std::nullopt);
  const GivenCollation simple = parse_collation(json("{collation: {locale: 'simple'}}").view().first());
  REQUIRE(simple);
  CHECK(*simple == nullptr);
  CHECK(compare(Value("a"), Value("A"), nullptr) > 0);
}

TEST_CASE("the normal form has every field, with the locale's defaults") {
  CHECK(to_json(collator("{locale: 'en', strength: 2}")->specification()) ==
        to_json(json(
            "{locale: 'en', caseLevel: false, caseFirst: 'off', strength: 2, numericOrdering: false, alternate: 'non-ignorable', "
            "maxVariable: 'punct', normalization: false, backwards: false, version: '57.1'}")));
  CHECK(collator("{locale: 'fr_CA'}")->specification()["backwards"].as_bool());
  CHECK(collator("{locale: 'da'}")->specification()["caseFirst"].as_string() == "upper");
  CHECK(collator("{locale: 'th'}")->specification()["alternate"].as_string() == "shifted");
  for (const char* specification : specifications) {
    const CollatorPtr once = collator(specification), again = collator_of(once->specification());
    CHECK(once->specification().bytes() == again->specification().bytes());
    CHECK(same_collation(once.get(), again.get()));
  }
  CHECK_FALSE(same_collation(collator("{locale: 'en'}").get(), nullptr));
  CHECK_FALSE(same_collation(collator("{locale: 'en'}").get(), collator("{locale: 'en', strength: 2}").get()));
}

TEST_CASE("a locale is valid in its canonical form") {
  for (const char* locale : {"en", "en_US", "de_AT", "zh_Hant", "sr_Latn", "en_US_POSIX", "es@collation=traditional"}) {
    CHECK(refused("{locale: '" + std::string(locale) + "'}") == "accepted");
  }
  for (const char* locale : {"", "EN", "en-US", "en_us", "xx", "root", "x_invalid", "i-invalid", "en@foo=bar", "de@collation=odd",
                             "de@", "en@collation=", "simple2", "en_"}) {
    INFO(locale);
    CHECK(refused("{locale: '" + std::string(locale) + "'}").starts_with("Field 'locale' is invalid in: "));
  }
  CHECK(refused("{locale: '" + std::string(10000, 'e') + "'}").starts_with("Field 'locale' is invalid in: "));
}

TEST_CASE("equal specifications share a collator, in any number of threads") {
  const CollatorPtr first = collator("{locale: 'en', strength: 2}");
  CHECK(collator("{locale: 'en', strength: 2}") == first);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int j = 0; j < 300; ++j) {
        const int strength = 1 + (i + j) % 5;
        const CollatorPtr by = collator("{locale: 'sv', numericOrdering: true, strength: " + std::to_string(strength) + "}");
        base::check((by->compare("a", "A") == 0) == (strength < 3), "every thread's collator compares by its own strength");
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace bson
