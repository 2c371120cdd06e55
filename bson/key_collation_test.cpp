#include "bson/key_collation.h"

#include <catch2/catch.hpp>

#include "bson/collation.h"
#include "bson/keystring.h"
#include "bson/test_generators.h"

namespace bson {
namespace {

Bytes key_of(const ValueView& value, const Collator* collator = nullptr) {
  return std::move(KeyString().append(value, false, collator)).bytes();
}

TEST_CASE("a key without its value becomes the key that the value has under a collation") {
  for (const char* specification : {"{locale: 'en', strength: 1}", "{locale: 'de', strength: 2}", "{locale: 'en'}"}) {
    const CollatorPtr collator = collator_of(json(specification));
    CHECK(rc::check("any value", [&] {
      const Value value = *arbitrary_value();
      RC_ASSERT(collated_key(key_of(value), *collator) == key_of(value, collator.get()));
    }));
    CHECK(rc::check("numbers", [&] {
      const Value value = *arbitrary_number();
      RC_ASSERT(collated_key(key_of(value), *collator) == key_of(value));
    }));
  }
}

TEST_CASE("strings of a key become sort keys wherever they stand, and names and code stay") {
  const CollatorPtr collator = collator_of(json("{locale: 'en', strength: 2}"));
  const auto collated = [&](const char* document) { return collated_key(key_of(json(document)["_id"]), *collator); };
  CHECK(collated("{_id: 'Ann'}") == collated("{_id: 'ann'}"));
  CHECK(collated("{_id: 'Ann'}") != collated("{_id: 'Anne'}"));
  CHECK(collated("{_id: {n: 'Ann', of: ['A', NumberDecimal('0.1')]}}") ==
        collated("{_id: {n: 'ann', of: ['a', NumberDecimal('0.1')]}}"));
  CHECK(collated("{_id: {n: 'a'}}") != collated("{_id: {N: 'a'}}"));
  CHECK(collated("{_id: Code('A')}") != collated("{_id: Code('a')}"));
  CHECK(collated("{_id: 'A\\u0000b\\u0001'}") == key_of(json("{_id: 'a\\u0000B\\u0001'}")["_id"], collator.get()));
}

TEST_CASE("bytes that are no key of one value are refused") {
  const CollatorPtr collator = collator_of(json("{locale: 'en', strength: 2}"));
  const Bytes key = key_of(json("{_id: {a: 'x', b: [1, NumberDecimal('0.1'), BinData(0, 'aGk=')]}}")["_id"]);
  CHECK(collated_key(key, *collator));
  CHECK(!collated_key(key + "\x20", *collator));
  for (size_t end = 0; end < key.size(); ++end) CHECK(!collated_key(BytesView(key).substr(0, end), *collator));
  CHECK(!collated_key(Bytes(100'000, '\x60'), *collator));
}

}  // namespace
}  // namespace bson
