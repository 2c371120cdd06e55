// Documents are read where they lie: a DocumentView is a borrowed run of BSON bytes, an Element is one field of it. No byte is
// parsed before it is needed.
//
//   document  | int32 length | element … element | 00 |
//   element   | type | name 00 | value |
//
// Views trust their bytes. What comes from outside goes through
// bson::validate (validate.h) once; behind it no check is repeated.
#pragma once

#include <optional>

#include "bson/types.h"

namespace bson {

class DocumentView;

// A ValueView is one value where it lies. It borrows the bytes; its accessors demand the right type.
class ValueView {
 public:
  constexpr ValueView() = default;
  constexpr ValueView(Type type, BytesView bytes) : type_(type), bytes_(bytes) {}

  Type type() const { return type_; }
  BytesView bytes() const { return bytes_; }  // for the value alone, without type and name
  bool exists() const { return type_ != Type::eod; }
  explicit operator bool() const { return exists(); }

  double as_double() const { return base::load_le<double>(bytes_.data()); }
  int32_t as_int32() const { return base::load_le<int32_t>(bytes_.data()); }
  int64_t as_int64() const { return base::load_le<int64_t>(bytes_.data()); }
  Decimal128 as_decimal128() const {
    return {base::load_le<uint64_t>(bytes_.data()), base::load_le<uint64_t>(bytes_.data() + 8)};
  }
  bool as_bool() const { return bytes_[0] != 0; }
  Date as_date() const { return Date{as_int64()}; }
  Timestamp as_timestamp() const { return {base::load_le<uint32_t>(bytes_.data() + 4), base::load_le<uint32_t>(bytes_.data())}; }
  ObjectId as_object_id() const;
  // string, code, symbol
  std::string_view as_string() const { return bytes_.substr(4, bytes_.size() - 5); }
  DocumentView as_document() const;  // object or array
  Binary as_binary() const;
  Regex as_regex() const;
  std::string_view code_with_scope_code() const;
  DocumentView code_with_scope_scope() const;
  std::string_view db_pointer_namespace() const;
  ObjectId db_pointer_id() const;

  bool is_number() const { return bson::is_number(type_); }
  bool is_integer() const { return type_ == Type::int32 || type_ == Type::int64; }
  bool is_object() const { return type_ == Type::object; }
  bool is_array() const { return type_ == Type::array; }
  bool is_string() const { return type_ == Type::string; }
  bool is_nullish() const { return type_ == Type::null || type_ == Type::undefined || type_ == Type::eod; }

  // Returns any number as int64, truncated toward zero and clamped to its range; 0 for other types.
  int64_t to_int64() const;
  // Returns any number as double, and NaN for other types.
  double to_double() const;
  // This is MongoDB's truth: false for missing, null, undefined, false and any zero.
  bool truthy() const;

  // Tells whether both have the same type and the same bytes.
  bool identical(const ValueView& other) const { return type_ == other.type_ && bytes_ == other.bytes_; }

 private:
  Type type_ = Type::eod;
  BytesView bytes_;
};

struct Element : ValueView {
  Element() = default;
  Element(std::string_view field_name, ValueView value) : ValueView(value), name(field_name) {}
  std::string_view name;
};

class DocumentView {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Element;
    using difference_type = std::ptrdiff_t;
    using pointer = const Element*;
    using reference = const Element&;

    Iterator() = default;
    explicit Iterator(const char* at) : at_(at) { load(); }
    const Element& operator*() const { return element_; }
    const Element* operator->() const { return &element_; }
    Iterator& operator++() {
      at_ = next_;
      load();
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    void load();
    const char* at_ = nullptr;  // nullptr at the end
    const char* next_ = nullptr;
    Element element_;
  };

  DocumentView();  // the empty document
  explicit DocumentView(BytesView bytes) : bytes_(bytes) {}

  BytesView bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.size() <= 5; }

  Iterator begin() const;
  Iterator end() const { return Iterator(); }

  // Returns the first field of that name; a missing one has type eod.
  Element find(std::string_view name) const;
  Element operator[](std::string_view name) const { return find(name); }
  bool has(std::string_view name) const { return find(name).exists(); }
  Element first() const;
  size_t count() const;  // the number of fields; it walks through all of them

 private:
  BytesView bytes_;
};

inline DocumentView ValueView::as_document() const {
  return DocumentView(bytes_);
}

// A Document owns its bytes. There are always some: the empty document has five.
class Document {
 public:
  Document();
  explicit Document(Bytes bytes) : bytes_(std::move(bytes)) {}
  explicit Document(DocumentView view) : bytes_(view.bytes()) {}

  DocumentView view() const { return DocumentView(bytes_); }
  operator DocumentView() const { return view(); }  // NOLINT: a document is a view of itself
  const Bytes& bytes() const& { return bytes_; }
  Bytes&& bytes() && { return std::move(bytes_); }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return view().empty(); }

  Element find(std::string_view name) const { return view().find(name); }
  Element operator[](std::string_view name) const { return view().find(name); }
  bool has(std::string_view name) const { return view().has(name); }
  DocumentView::Iterator begin() const { return view().begin(); }
  DocumentView::Iterator end() const { return view().end(); }

 private:
  Bytes bytes_;
};

// Returns the number of bytes that a value of this type takes at `at`, by its own length fields.
size_t value_bytes(Type type, const char* at);

inline constexpr size_t document_bytes_max = 16 * 1024 * 1024;  // of a user's document
inline constexpr size_t document_bytes_max_internal = document_bytes_max + 16 * 1024;
inline constexpr int nesting_max = 180;  // levels of objects and arrays

}  // namespace bson
