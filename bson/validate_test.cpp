#include "bson/validate.h"

#include <bson/bson.h>

#include <catch2/catch.hpp>

#include "bson/compare.h"
#include "bson/keystring.h"
#include "bson/test_generators.h"

namespace bson {
namespace {

Bytes mutated(generators::Dice& dice, Bytes bytes) {
  for (uint64_t left = 1 + dice.below(3); left > 0 && !bytes.empty(); --left) {
    const size_t at = dice.below(bytes.size());
    switch (dice.below(5)) {
      case 0: bytes[at] = static_cast<char>(dice.next()); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] + (dice.chance(50) ? 1 : -1)); break;
      case 2: bytes[at] = static_cast<char>(dice.pick({0x00, 0x01, 0x03, 0x0c, 0x0f, 0x7f, 0x80, 0xff})); break;
      case 3: bytes.erase(at, 1 + dice.below(4)); break;
      default: bytes.insert(at, 1, static_cast<char>(dice.next())); break;
    }
  }
  // The outermost length would reveal most damage, so it is put right and the inner checks are reached.
  if (bytes.size() >= 4 && dice.chance(80)) base::store_le(bytes.data(), static_cast<uint32_t>(bytes.size()));
  return bytes;
}

rc::Gen<Bytes> damaged_document() {
  return generators::from_dice(
      [](generators::Dice& dice) { return mutated(dice, std::move(generators::document(dice, 3)).bytes()); });
}

// Walks through everything that a view can be asked for.
uint64_t walk(DocumentView document) {
  uint64_t sum = hash_value(Value(document));
  sum += to_json(document, JsonMode::canonical).size() + to_shell(document).size();
  return sum + KeyString().append(Value(document)).bytes().size();
}

bool libbson_accepts(BytesView bytes) {
  bson_t document;
  return bson_init_static(&document, base::as_u8(bytes), bytes.size()) && bson_validate(&document, BSON_VALIDATE_NONE, nullptr);
}

TEST_CASE("everything that was built is valid") {
  CHECK(rc::check("documents", [] {
    const Document document = *arbitrary_document();
    const auto result = validate(document.bytes(), {.utf8 = true});
    RC_ASSERT(result.ok());
    RC_ASSERT(result.value().bytes() == document.bytes());
    RC_ASSERT(validate(document.bytes() + "more").value().bytes() == document.bytes());
    RC_ASSERT(libbson_accepts(document.bytes()));
  }));
}

TEST_CASE("what is accepted can be walked, however it was damaged") {
  CHECK(rc::check("damaged documents", [] {
    const Bytes bytes = *damaged_document();
    const auto result = validate(bytes);
    if (result.ok()) {
      walk(result.value());
    } else {
      RC_ASSERT(!result.failure().message.empty());
    }
  }));
}

// The reverse doesn't hold: libbson doesn't look into a code's scope and lets some unknown types pass.
TEST_CASE("what is accepted is accepted by libbson too") {
  CHECK(rc::check("damaged documents", [] {
    const Bytes bytes = *damaged_document();
    const auto result = validate(bytes, {.utf8 = true});
    if (result.ok() && result.value().size() == bytes.size()) RC_ASSERT(libbson_accepts(bytes));
  }));
}

Document nested(int levels) {
  Document document;
  for (int i = 1; i < levels; ++i) {
    Builder outer;
    outer.append("a", document);
    document = outer.done();
  }
  return document;
}

TEST_CASE("levels are counted") {
  CHECK(validate(nested(nesting_max).bytes()).ok());
  CHECK_FALSE(validate(nested(nesting_max + 1).bytes()).ok());
  CHECK_FALSE(validate(nested(1000).bytes()).ok());
}

TEST_CASE("a document beyond the size is refused as too large") {
  Builder builder;
  builder.append("a", Bytes(100, 'x'));
  const Document document = builder.done();
  const auto result = validate(document.bytes(), {.bytes_max = 50});
  REQUIRE_FALSE(result.ok());
  CHECK(result.failure().code == base::ErrorCode::bson_object_too_large);
}

}  // namespace
}  // namespace bson
