#include "bson/builder.h"

#include <charconv>

#include "base/error.h"

namespace bson {
namespace {

// An empty view may point nowhere, which memcpy does not take even for no bytes.
char* copy(char* to, BytesView from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
  return to + from.size();
}

}  // namespace

Builder::Builder() : Builder(Bytes()) {}

Builder::Builder(Bytes buffer) : own_(std::move(buffer)), out_(&own_) {
  own_.clear();
  own_.append(4, '\0');
}

Builder::Builder(Bytes* parent, size_t start) : out_(parent), start_(start) {}

Builder::Builder(Builder&& other) noexcept
    : own_(std::move(other.own_)),
      out_(other.out_ == &other.own_ ? &own_ : other.out_),
      start_(other.start_),
      open_(other.open_) {
  other.open_ = false;
}

Builder::~Builder() {
  if (open_ && out_ != &own_) close();
}

void Builder::close() {
  out_->push_back('\0');
  base::store_le(out_->data() + start_, static_cast<uint32_t>(out_->size() - start_));
  open_ = false;
}

Document Builder::done() {
  base::check(open_, "document finished twice");
  base::check(out_ == &own_, "a nested document closes by itself");
  close();
  return Document(std::move(own_));
}

size_t Builder::size() const {
  return out_->size() - start_;
}

void check_buffer_bytes(size_t bytes) {
  if (bytes <= buffer_bytes_max) [[likely]]
    return;
  throw base::OperationError(13548,
                             "BufBuilder attempted to grow() to " + std::to_string(bytes) + " bytes, past the 64MB limit.");
}

char* Builder::grow(Type type, std::string_view name, size_t bytes) {
  const size_t at = out_->size();
  check_buffer_bytes(at + 1 + name.size() + 1 + bytes);
  out_->resize(at + 1 + name.size() + 1 + bytes);
  char* to = out_->data() + at;
  *to++ = static_cast<char>(type);
  to = copy(to, name);
  *to = '\0';
  return to + 1;
}

Builder& Builder::append(std::string_view name, double value) {
  base::store_le(grow(Type::number_double, name, 8), value);
  return *this;
}

Builder& Builder::append(std::string_view name, int32_t value) {
  base::store_le(grow(Type::int32, name, 4), value);
  return *this;
}

Builder& Builder::append(std::string_view name, int64_t value) {
  base::store_le(grow(Type::int64, name, 8), value);
  return *this;
}

Builder& Builder::append(std::string_view name, bool value) {
  *grow(Type::boolean, name, 1) = value ? 1 : 0;
  return *this;
}

Builder& Builder::append(std::string_view name, std::string_view value) {
  char* to = grow(Type::string, name, 4 + value.size() + 1);
  base::store_le(to, static_cast<uint32_t>(value.size() + 1));
  *copy(to + 4, value) = '\0';
  return *this;
}

Builder& Builder::append(std::string_view name, DocumentView value) {
  return append(name, ValueView(Type::object, value.bytes()));
}

Builder& Builder::append_array(std::string_view name, DocumentView elements) {
  return append(name, ValueView(Type::array, elements.bytes()));
}

Builder& Builder::append(std::string_view name, const ObjectId& value) {
  std::memcpy(grow(Type::object_id, name, 12), value.bytes.data(), 12);
  return *this;
}

Builder& Builder::append(std::string_view name, Date value) {
  base::store_le(grow(Type::date, name, 8), value.ms);
  return *this;
}

Builder& Builder::append(std::string_view name, Timestamp value) {
  base::store_le(grow(Type::timestamp, name, 8), value.packed());
  return *this;
}

Builder& Builder::append(std::string_view name, Decimal128 value) {
  char* to = grow(Type::decimal128, name, 16);
  base::store_le(to, value.low);
  base::store_le(to + 8, value.high);
  return *this;
}

Builder& Builder::append(std::string_view name, ValueView value) {
  if (!value.exists()) return *this;
  copy(grow(value.type(), name, value.bytes().size()), value.bytes());
  return *this;
}

Builder& Builder::append(std::string_view name, Binary value) {
  char* to = grow(Type::binary, name, 5 + value.bytes.size());
  base::store_le(to, static_cast<uint32_t>(value.bytes.size()));
  to[4] = static_cast<char>(value.subtype);
  copy(to + 5, value.bytes);
  return *this;
}

Builder& Builder::append(std::string_view name, Regex value) {
  char* to = grow(Type::regex, name, value.pattern.size() + value.options.size() + 2);
  to = copy(to, value.pattern);
  *to = '\0';
  *copy(to + 1, value.options) = '\0';
  return *this;
}

Builder& Builder::append_null(std::string_view name) {
  grow(Type::null, name, 0);
  return *this;
}

Builder& Builder::append_all(DocumentView fields) {
  check_buffer_bytes(out_->size() + fields.size());
  out_->append(fields.bytes().substr(4, fields.size() - 5));
  return *this;
}

Builder Builder::object(std::string_view name) {
  grow(Type::object, name, 4);
  return Builder(out_, out_->size() - 4);
}

ArrayBuilder Builder::array(std::string_view name) {
  grow(Type::array, name, 4);
  return ArrayBuilder(Builder(out_, out_->size() - 4));
}

Value ArrayBuilder::done_value() {
  return Value::array(builder_.done());
}

std::string_view ArrayBuilder::next_name() {
  const auto end = std::to_chars(name_, name_ + sizeof name_, index_++);
  return {name_, static_cast<size_t>(end.ptr - name_)};
}

}  // namespace bson
