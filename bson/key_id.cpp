#include "bson/key_id.h"

#include "bson/key_types.h"
#include "bson/keystring.h"

namespace bson {

namespace {

// Only the document says what documents, arrays and other values of several parts are.
bool is_told(Type type) {
  switch (type) {
    case Type::number_double:
    case Type::int32:
    case Type::int64:
    case Type::string:
    case Type::object_id:
    case Type::date:
    case Type::binary:
    case Type::boolean:
    case Type::null: return true;
    default: return false;
  }
}

}  // namespace

std::optional<Document> id_of_key(BytesView key) {
  KeyReader reader(key, {});
  Builder out;
  reader.next(false, "_id", out);
  if (!reader.ok() || reader.read() != key.size()) return std::nullopt;
  Document id = out.done();
  const Element value = id.view().first();
  // A damaged key can say a value otherwise than its own key does, as a number in more bytes than it needs.
  if (!is_told(value.type()) || KeyString().append(value).bytes() != key) return std::nullopt;
  return id;
}

}  // namespace bson
