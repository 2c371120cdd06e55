#include "bson/document.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "bson/decimal.h"
#include "bson/field_reader.h"
#include "bson/numeric.h"

namespace bson {
namespace {

constexpr char empty_document[] = "\x05\0\0\0";  // and the literal's own terminator

}  // namespace

size_t value_bytes(Type type, const char* at) {
  const auto length = [](const char* p) { return static_cast<size_t>(base::load_le<uint32_t>(p)); };
  switch (type) {
    case Type::eod:
    case Type::undefined:
    case Type::null:
    case Type::min_key:
    case Type::max_key: return 0;
    case Type::boolean: return 1;
    case Type::int32: return 4;
    case Type::number_double:
    case Type::date:
    case Type::timestamp:
    case Type::int64: return 8;
    case Type::object_id: return 12;
    case Type::decimal128: return 16;
    case Type::string:
    case Type::code:
    case Type::symbol: return 4 + length(at);
    case Type::object:
    case Type::array:
    case Type::code_with_scope: return length(at);
    case Type::binary: return 5 + length(at);
    case Type::db_pointer: return 4 + length(at) + 12;
    case Type::regex: {
      const size_t pattern = std::strlen(at) + 1;
      return pattern + std::strlen(at + pattern) + 1;
    }
  }
  base::check(false, "value of an unknown BSON type");
  return 0;
}

void DocumentView::Iterator::load() {
  const auto type = static_cast<Type>(*at_);
  if (type == Type::eod) {
    at_ = nullptr;
    return;
  }
  const char* name = at_ + 1;
  const size_t name_bytes = std::strlen(name);
  const char* value = name + name_bytes + 1;
  const size_t bytes = value_bytes(type, value);
  element_ = Element({name, name_bytes}, ValueView(type, {value, bytes}));
  next_ = value + bytes;
}

DocumentView::DocumentView() : bytes_(empty_document, 5) {}

DocumentView::Iterator DocumentView::begin() const {
  return Iterator(bytes_.data() + 4);
}

Element DocumentView::find(std::string_view name) const {
  FieldReader fields(*this);
  while (fields.next()) {
    if (fields.is_named(name)) return fields.element();
  }
  return {};
}

Element DocumentView::first() const {
  auto it = begin();
  return it == end() ? Element() : *it;
}

size_t DocumentView::count() const {
  size_t fields = 0;
  for (auto it = begin(); it != end(); ++it) ++fields;
  return fields;
}

Document::Document() : bytes_(empty_document, 5) {}

ObjectId ValueView::as_object_id() const {
  ObjectId id;
  std::memcpy(id.bytes.data(), bytes_.data(), id.bytes.size());
  return id;
}

Binary ValueView::as_binary() const {
  return {static_cast<uint8_t>(bytes_[4]), bytes_.substr(5)};
}

Regex ValueView::as_regex() const {
  const std::string_view pattern(bytes_.data());
  return {pattern, bytes_.substr(pattern.size() + 1, bytes_.size() - pattern.size() - 2)};
}

std::string_view ValueView::code_with_scope_code() const {
  return bytes_.substr(8, base::load_le<uint32_t>(bytes_.data() + 4) - 1);
}

DocumentView ValueView::code_with_scope_scope() const {
  return DocumentView(bytes_.substr(8 + base::load_le<uint32_t>(bytes_.data() + 4)));
}

std::string_view ValueView::db_pointer_namespace() const {
  return bytes_.substr(4, bytes_.size() - 17);
}

ObjectId ValueView::db_pointer_id() const {
  return ValueView(Type::object_id, bytes_.substr(bytes_.size() - 12)).as_object_id();
}

int64_t ValueView::to_int64() const {
  switch (type_) {
    case Type::int32: return as_int32();
    case Type::int64: return as_int64();
    case Type::number_double: return saturated_int64(as_double());
    case Type::decimal128: return saturated_int64(as_decimal128());
    default: return 0;
  }
}

double ValueView::to_double() const {
  switch (type_) {
    case Type::int32: return as_int32();
    case Type::int64: return static_cast<double>(as_int64());
    case Type::number_double: return as_double();
    case Type::decimal128: return decimal_to_double(as_decimal128());
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

bool ValueView::truthy() const {
  switch (type_) {
    case Type::eod:
    case Type::undefined:
    case Type::null: return false;
    case Type::boolean: return as_bool();
    case Type::int32: return as_int32() != 0;
    case Type::int64: return as_int64() != 0;
    case Type::number_double: return as_double() != 0;
    case Type::decimal128: return !decimal_is_zero(as_decimal128());
    default: return true;
  }
}

}  // namespace bson
