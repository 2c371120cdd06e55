// A FieldReader walks the fields of a document for those who look for some of them: what scans spend their time with.
#pragma once

#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "bson/document.h"

namespace bson {

// Returns a number below 64; equal names have the same one, and other names seldom share it. A reader that looks for several
// names keeps the set of their numbers as bits, and compares few names.
inline unsigned name_tag(std::string_view name) {
  const auto last = name.empty() ? 0U : static_cast<unsigned char>(name.back());
  return (static_cast<unsigned>(name.size()) * 13 + last) % 64;
}

class FieldReader {
 public:
  explicit FieldReader(DocumentView document) : FieldReader(document, document.bytes().data() + 4) {}
  // Begins at a field that another reader of the document was at.
  FieldReader(DocumentView document, const char* position) : at_(position), end_(document.bytes().data() + document.size()) {}

  // Goes to the next field, at first to the first one. Returns false at the end, and must not be called again.
  bool next() {
    field_ = at_;
    type_ = static_cast<Type>(*at_);
    if (type_ == Type::eod) return false;
    const char* const name = at_ + 1;
    name_ = {name, name_bytes(name)};
    const char* const value = name + name_.size() + 1;
    value_ = {value, quick_value_bytes(value)};
    at_ = value + value_.size();
    return true;
  }

  // Names of one document often differ in their last byte alone ("text01", "text02"), so that byte is compared first.
  bool is_named(std::string_view name) const {
    if (name.size() != name_.size()) return false;
    return name.empty() || (name.back() == name_.back() && std::memcmp(name.data(), name_.data(), name.size()) == 0);
  }
  std::string_view name() const { return name_; }
  Element element() const { return {name_, ValueView(type_, value_)}; }

  // Returns the place of the field, which field_at takes.
  const char* position() const { return field_; }

 private:
  // Most names are short, and a call of strlen takes longer than to read them.
  size_t name_bytes(const char* name) const {
    constexpr uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
    const char* at = name;
    for (; end_ - at >= 8; at += 8) {
      const auto word = base::load_le<uint64_t>(at);
      const uint64_t zeros = (word - ones) & ~word & highs;  // its lowest bit is that of the first zero byte
      if (zeros != 0) return static_cast<size_t>(at - name) + static_cast<size_t>(std::countr_zero(zeros)) / 8;
    }
    return static_cast<size_t>(at - name) + std::strlen(at);
  }

  // The most frequent kinds of values need no call.
  size_t quick_value_bytes(const char* value) const {
    switch (type_) {
      case Type::string: return 4 + static_cast<size_t>(base::load_le<uint32_t>(value));
      case Type::int32: return 4;
      case Type::number_double:
      case Type::date:
      case Type::int64: return 8;
      case Type::object:
      case Type::array: return base::load_le<uint32_t>(value);
      default: return value_bytes(type_, value);
    }
  }

  const char* at_;  // the next field
  const char* const end_;
  const char* field_ = nullptr;
  Type type_ = Type::eod;
  std::string_view name_, value_;
};

// Returns the field that a reader of the document was at.
inline Element field_at(DocumentView document, const char* position) {
  FieldReader reader(document, position);
  reader.next();
  return reader.element();
}

}  // namespace bson
