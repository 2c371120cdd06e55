#include "bson/testing/grammar.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/random.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/validate.h"

using namespace bson;
using bson::testing::Choices;
using bson::testing::Grammar;

namespace {

Bytes random_bytes(base::Random& random) {
  Bytes bytes(random.below(300), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

Grammar sums() {
  Grammar grammar;
  grammar.add("number", {"1", "'$a'", "{$add: ['@number', {'@many': '@number'}]}"}).add("name", {"'x'", "'y'"});
  grammar.add("fields", {"{}", "{'@name': '@number', 'z?': 1, '@many': {w: '@any'}}"});
  return grammar;
}

}  // namespace

TEST_CASE("a rule's first alternative is made when there are no bytes to choose by") {
  Choices none({});
  CHECK(to_json(sums().make("number", none)) == "1");
}

TEST_CASE("bytes choose among a rule's alternatives, whatever they are") {
  const Grammar grammar = sums();
  base::Random random(1);
  std::set<std::string> numbers, fields;
  for (int i = 0; i < 2000; ++i) {
    const Bytes bytes = random_bytes(random);
    Choices choices(bytes), again(bytes);
    const Document made = grammar.document("fields", choices, false);
    REQUIRE(validate(made.bytes(), {.utf8 = true}).ok());
    REQUIRE(grammar.document("fields", again, false).bytes() == made.bytes());
    for (const Element& field : made) fields.insert(std::string(field.name));
    Choices more(bytes);
    numbers.insert(to_json(grammar.make("number", more, false)));
  }
  CHECK(fields == std::set<std::string>{"w", "x", "y", "z"});
  CHECK(numbers.contains("\"$a\""));
  CHECK(numbers.contains("{\"$add\": [1, \"$a\"]}"));
}

TEST_CASE("values of any type are of all types, and valid") {
  base::Random random(2);
  std::set<Type> types;
  for (int i = 0; i < 4000; ++i) {
    const Bytes bytes = random_bytes(random);
    Choices choices(bytes);
    Builder out;
    const Value made = Grammar().make("any", choices);
    types.insert(made.type());
    REQUIRE(validate(out.append("v", made).done().bytes(), {.utf8 = true}).ok());
  }
  CHECK(types.size() == 21);
}

TEST_CASE("what stands in the place of a rule's value uses up the same choices") {
  const Grammar grammar = sums();
  const Bytes bytes("\2\1\1", 3);  // a sum, of the field, and of one more
  const Grammar::Replace replace = [](std::string_view rule, const ValueView& made) {
    return rule == "number" && made.is_string() ? std::optional(Value(int32_t{7})) : std::nullopt;
  };
  Choices plain(bytes), replaced(bytes);
  CHECK(to_json(grammar.make("number", plain, false)) == "{\"$add\": [\"$a\", 1]}");
  CHECK(to_json(grammar.make("number", replaced, false, replace)) == "{\"$add\": [7, 1]}");
}
