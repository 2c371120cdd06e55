// A Builder writes a document front to back into one buffer.
//
//   bson::Builder reply;
//   reply.append("n", 3).append("ok", 1.0);
//   { auto cursor = reply.object("cursor"); cursor.append("id", int64_t{0}); }
//   bson::Document document = reply.done();
//
// A nested builder writes into its parent's buffer and closes itself when it
// goes out of scope; the parent must not be used in between.
#pragma once

#include "bson/document.h"
#include "bson/value.h"

namespace bson {

class ArrayBuilder;

// Documents, and texts that are put together, end at this size. One that a client may see is limited further where it is made.
inline constexpr size_t buffer_bytes_max = 64 << 20;
// Throws 13548 for a size beyond it.
void check_buffer_bytes(size_t bytes);

// The calls that append throw 13548 when the whole would be longer than `buffer_bytes_max`.
class Builder {
 public:
  Builder();
  explicit Builder(Bytes buffer);  // reuses the memory of `buffer`
  ~Builder();
  Builder(Builder&& other) noexcept;
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Builder& append(std::string_view name, double value);
  Builder& append(std::string_view name, int32_t value);
  Builder& append(std::string_view name, int64_t value);
  Builder& append(std::string_view name, bool value);
  Builder& append(std::string_view name, std::string_view value);
  Builder& append(std::string_view name, const char* value) { return append(name, std::string_view(value)); }
  Builder& append(std::string_view name, const std::string& value) { return append(name, std::string_view(value)); }
  Builder& append(std::string_view name, DocumentView value);
  Builder& append(std::string_view name, const Document& value) { return append(name, value.view()); }
  Builder& append(std::string_view name, const ObjectId& value);
  Builder& append(std::string_view name, Date value);
  Builder& append(std::string_view name, Timestamp value);
  Builder& append(std::string_view name, Decimal128 value);
  Builder& append(std::string_view name, ValueView value);  // a missing value appends nothing
  Builder& append(std::string_view name, const Value& value) { return append(name, value.view()); }
  Builder& append(std::string_view name, Binary value);
  Builder& append(std::string_view name, Regex value);
  Builder& append_null(std::string_view name);
  Builder& append_array(std::string_view name, DocumentView elements);  // the names are "0", "1", … already
  Builder& append_element(const Element& element) { return append(element.name, static_cast<ValueView>(element)); }
  Builder& append_all(DocumentView fields);  // appends every field of it

  Builder object(std::string_view name);
  ArrayBuilder array(std::string_view name);

  // Closes the document and returns it; the builder can't be used afterwards.
  Document done();
  // Returns the number of bytes so far, without the closing one.
  size_t size() const;

 protected:
  Builder(Bytes* parent, size_t start);
  char* grow(Type type, std::string_view name, size_t bytes);
  void close();

  Bytes own_;
  Bytes* out_;
  size_t start_ = 0;
  bool open_ = true;
  friend class ArrayBuilder;
};

// An ArrayBuilder does the same for arrays and counts the names up by itself.
class ArrayBuilder {
 public:
  ArrayBuilder() = default;  // for an array that stands in no document; take it with done_value()
  explicit ArrayBuilder(Builder builder) : builder_(std::move(builder)) {}

  template <class T>
  ArrayBuilder& append(const T& value) {
    builder_.append(next_name(), value);
    return *this;
  }
  ArrayBuilder& append_null() { return builder_.append_null(next_name()), *this; }
  Builder object() { return builder_.object(next_name()); }
  ArrayBuilder array() { return builder_.array(next_name()); }
  size_t count() const { return index_; }
  size_t size() const { return builder_.size(); }
  Value done_value();

 private:
  std::string_view next_name();
  Builder builder_;
  uint32_t index_ = 0;
  char name_[12];
};

}  // namespace bson
