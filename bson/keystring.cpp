#include "bson/keystring.h"

#include "base/error.h"
#include "bson/compare.h"
#include "bson/key_kinds.h"
#include "bson/number_key.h"

namespace bson {
namespace {

struct KindRange {
  uint8_t first;
  uint8_t last;
};

KindRange kinds_of(Type type) {
  switch (type) {
    case Type::min_key: return {kind::min_key, kind::min_key};
    case Type::eod:
    case Type::undefined: return {kind::undefined, kind::undefined};
    case Type::null: return {kind::null, kind::null};
    case Type::number_double:
    case Type::int32:
    case Type::int64:
    case Type::decimal128: return {number_kind::first, number_kind::last};
    case Type::string:
    case Type::symbol: return {kind::string, kind::string};
    case Type::object: return {kind::object, kind::object};
    case Type::array: return {kind::array, kind::array};
    case Type::binary: return {kind::binary, kind::binary};
    case Type::object_id: return {kind::object_id, kind::object_id};
    case Type::boolean: return {kind::boolean, kind::boolean + 1};
    case Type::date: return {kind::date, kind::date};
    case Type::timestamp: return {kind::timestamp, kind::timestamp};
    case Type::regex: return {kind::regex, kind::regex};
    case Type::db_pointer: return {kind::db_pointer, kind::db_pointer};
    case Type::code: return {kind::code, kind::code};
    case Type::code_with_scope: return {kind::code_with_scope, kind::code_with_scope};
    case Type::max_key: return {kind::max_key, kind::max_key};
  }
  base::check(false, "key of an unknown BSON type");
  return {};
}

// A string ends with 00. Within it 00 becomes 01 01 and 01 becomes 01 02, which keeps the order and leaves every other byte, and
// so nearly all text, as it is.
void append_string(Bytes& out, std::string_view text) {
  size_t done = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte > 1) continue;
    out.append(text.substr(done, i - done));
    out.push_back('\1');
    out.push_back(static_cast<char>(byte + 1));
    done = i + 1;
  }
  out.append(text.substr(done));
  out.push_back('\0');
}

void append_cstring(Bytes& out, std::string_view text) {
  out.append(text);
  out.push_back('\0');
}

// Shorter values come first, as compare() has it.
void append_length(Bytes& out, size_t length) {
  if (length < 0xff) {
    out.push_back(static_cast<char>(length));
    return;
  }
  out.push_back('\xff');
  base::append_le(out, __builtin_bswap32(static_cast<uint32_t>(length)));
}

void append_value(Bytes& out, const ValueView& value, const Collator* collator);

// | kind of type | name 00 | value | … | 00 |
void append_object(Bytes& out, DocumentView document, const Collator* collator) {
  for (const Element& field : document) {
    out.push_back(static_cast<char>(kinds_of(field.type()).first));
    append_cstring(out, field.name);
    append_value(out, field, collator);
  }
  out.push_back('\0');
}

void append_array(Bytes& out, DocumentView array, const Collator* collator) {
  for (const Element& element : array) append_value(out, element, collator);
  out.push_back('\0');
}

void append_collated_string(Bytes& out, std::string_view text, const Collator& collator) {
  Bytes key;
  collator.append_key(key, text);
  append_string(out, key);
}

void append_body(Bytes& out, const ValueView& value, const Collator* collator) {
  switch (value.type()) {
    case Type::string:
    case Type::symbol:
      if (collator) return append_collated_string(out, value.as_string(), *collator);
      return append_string(out, value.as_string());
    case Type::code: return append_string(out, value.as_string());
    case Type::object: return append_object(out, value.as_document(), collator);
    case Type::array: return append_array(out, value.as_document(), collator);
    case Type::binary:
      append_length(out, value.bytes().size() - 5);
      out.append(value.bytes().substr(4));
      return;
    case Type::object_id: out.append(value.bytes()); return;
    case Type::date: return base::append_be64(out, static_cast<uint64_t>(value.as_int64()) ^ (uint64_t{1} << 63));
    case Type::timestamp: return base::append_be64(out, value.as_timestamp().packed());
    case Type::regex: append_cstring(out, value.as_regex().pattern); return append_cstring(out, value.as_regex().options);
    case Type::db_pointer:
      append_length(out, value.bytes().size());
      out.append(value.bytes().substr(4));
      return;
    case Type::code_with_scope:
      append_string(out, value.code_with_scope_code());
      return append_object(out, value.code_with_scope_scope(), nullptr);
    default: return;  // the kind says it all
  }
}

void append_value(Bytes& out, const ValueView& value, const Collator* collator) {
  if (value.is_number()) {
    char key[number_key_bytes_max];
    out.append(key, number_key(value, key));
    return;
  }
  uint8_t first = kinds_of(value.type()).first;
  if (value.type() == Type::boolean && value.as_bool()) ++first;
  out.push_back(static_cast<char>(first));
  append_body(out, value, collator);
}

}  // namespace

KeyString& KeyString::append(const ValueView& value, bool descending, const Collator* collator) {
  const size_t start = bytes_.size();
  append_value(bytes_, value, collator);
  if (descending) {
    for (size_t i = start; i < bytes_.size(); ++i) bytes_[i] = static_cast<char>(~bytes_[i]);
  }
  return *this;
}

KeyString& KeyString::append_before() {
  return *this;
}

KeyString& KeyString::append_after() {
  bytes_.append(9, '\xff');
  return *this;
}

Bracket type_bracket(Type type, bool descending) {
  auto [first, last] = kinds_of(type);
  if (descending) {
    const auto inverted = static_cast<uint8_t>(~last);
    last = static_cast<uint8_t>(~first);
    first = inverted;
  }
  return {Bytes(1, static_cast<char>(first)), Bytes(1, static_cast<char>(last + 1))};
}

}  // namespace bson
