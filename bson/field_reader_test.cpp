#include "bson/field_reader.h"

#include <catch2/catch.hpp>

#include "bson/builder.h"
#include "bson/test_generators.h"

namespace bson {

TEST_CASE("a field reader reads the fields that an iterator does") {
  CHECK(rc::check("any document", [] {
    const Document document = *arbitrary_document(4);
    FieldReader reader{document};
    for (const Element& field : document) {
      RC_ASSERT(reader.next());
      RC_ASSERT(reader.is_named(field.name));
      RC_ASSERT_FALSE(reader.is_named(std::string(field.name) + "x"));
      RC_ASSERT(reader.element().name == field.name);
      RC_ASSERT(reader.element().identical(field));
    }
    RC_ASSERT_FALSE(reader.next());
  }));
}

TEST_CASE("names of any length are read to their end") {
  for (size_t length = 0; length < 40; ++length) {
    Builder out;
    const std::string name(length, '\xff'), other = name.empty() ? "a" : std::string(length - 1, '\x80') + '\x01';
    out.append(name, 1).append(other, true).append_null("last");
    const Document document = out.done();
    FieldReader reader{document};
    CHECK((reader.next() && reader.is_named(name) && reader.element().as_int32() == 1));
    CHECK((reader.next() && reader.is_named(other) && reader.element().as_bool()));
    CHECK((reader.next() && reader.is_named("last") && !reader.is_named("past")));
    CHECK_FALSE(reader.next());
    CHECK(document["last"].type() == Type::null);
  }
}

}  // namespace bson
