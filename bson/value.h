// A Value owns a BSON value. Expressions compute with them and sort keys keep them.
#pragma once

#include "bson/document.h"

namespace bson {

// It holds a type and bytes. Small values (numbers, dates, short strings) need no allocation. It is missing by
// default.
class Value {
 public:
  Value() = default;
  explicit Value(ValueView view) : type_(view.type()), bytes_(view.bytes()) {}
  explicit Value(double value) : type_(Type::number_double) { base::append_le(bytes_, value); }
  explicit Value(int32_t value) : type_(Type::int32) { base::append_le(bytes_, value); }
  explicit Value(int64_t value) : type_(Type::int64) { base::append_le(bytes_, value); }
  explicit Value(bool value) : type_(Type::boolean), bytes_(1, value ? '\1' : '\0') {}
  explicit Value(Date value) : type_(Type::date) { base::append_le(bytes_, value.ms); }
  explicit Value(Timestamp value);
  explicit Value(Decimal128 value);
  explicit Value(const ObjectId& value);
  explicit Value(std::string_view value);
  explicit Value(const char* value) : Value(std::string_view(value)) {}
  explicit Value(const std::string& value) : Value(std::string_view(value)) {}
  explicit Value(DocumentView value) : type_(Type::object), bytes_(value.bytes()) {}
  explicit Value(Document&& value) : type_(Type::object), bytes_(std::move(value).bytes()) {}
  static Value null() { return Value(ValueView(Type::null, {})); }
  static Value array(DocumentView elements) { return Value(ValueView(Type::array, elements.bytes())); }
  static Value array(Document&& elements) {
    Value value(std::move(elements));
    value.type_ = Type::array;
    return value;
  }

  ValueView view() const { return {type_, bytes_}; }
  operator ValueView() const { return view(); }  // NOLINT: a value is a view of itself
  Type type() const { return type_; }
  bool exists() const { return type_ != Type::eod; }

 private:
  Type type_ = Type::eod;
  Bytes bytes_;
};

}  // namespace bson
