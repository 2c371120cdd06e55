#include "bson/key_types.h"

#include <bit>
#include <cmath>
#include <limits>

#include "bson/key_kinds.h"

namespace bson {
namespace {

constexpr uint8_t usual = 0, as_int64 = 1, as_double = 2;
constexpr uint8_t in_object = 2;  // a null: the field is missing, but its parent is there
constexpr char untold = 3;
constexpr int depth_max = 200;  // for damaged keys; documents are no deeper than that
constexpr double two_63 = 9223372036854775808.0;

bool fits_int32(int64_t value) {
  return value == static_cast<int32_t>(value);
}

bool names_count_up(DocumentView array) {
  size_t index = 0;
  for (const Element& element : array) {
    if (element.name != std::to_string(index++)) return false;
  }
  return true;
}

}  // namespace

bool has_values(BytesView types) {
  return types != BytesView(&untold, 1);
}

// --- from values

void KeyTypes::code(uint8_t bits) {
  if (bits != usual) {
    bytes_.resize(std::max(bytes_.size(), codes_ / 4 + 1));
    bytes_[codes_ / 4] = static_cast<char>(bytes_[codes_ / 4] | bits << 2 * (codes_ % 4));
  }
  ++codes_;
}

void KeyTypes::add_number(const ValueView& value) {
  switch (value.type()) {
    case Type::int32: return code(usual);
    case Type::int64: return code(fits_int32(value.as_int64()) || value.as_int64() == INT64_MIN ? as_int64 : usual);
    case Type::number_double: break;
    default: untold_ = true; return;
  }
  const double number = value.as_double();
  if (std::isnan(number) || number == 0) {
    const bool plain =
        std::bit_cast<uint64_t>(number) == std::bit_cast<uint64_t>(number == 0 ? 0.0 : std::numeric_limits<double>::quiet_NaN());
    untold_ = untold_ || !plain;
    return code(number == 0 ? as_double : usual);
  }
  const bool whole = std::fabs(number) < two_63 && std::trunc(number) == number;
  code(whole ? as_double : usual);
}

void KeyTypes::add_fields(DocumentView fields, bool array) {
  untold_ = untold_ || (array && !names_count_up(fields));
  for (const Element& field : fields) add(field);
}

void KeyTypes::add(const ValueView& value) {
  switch (value.type()) {
    case Type::number_double:
    case Type::int32:
    case Type::int64:
    case Type::decimal128: return add_number(value);
    case Type::object: return add_fields(value.as_document(), false);
    case Type::array: return add_fields(value.as_document(), true);
    case Type::null: return code(0);
    case Type::symbol:
    case Type::db_pointer:
    case Type::code_with_scope: untold_ = true; return;
    default: return;
  }
}

void KeyTypes::add_missing(size_t parents) {
  untold_ = untold_ || parents > 1;
  code(parents == 0 ? 1 : in_object);
}

Bytes KeyTypes::take() {
  Bytes types = untold_ ? Bytes(1, untold) : std::move(bytes_);
  bytes_.clear();
  codes_ = 0;
  untold_ = false;
  return types;
}

// --- from keys

uint8_t KeyReader::byte() {
  if (at_ == key_.size()) ok_ = false;
  return ok_ ? static_cast<uint8_t>(key_[at_++]) ^ flip_ : 0;
}

uint8_t KeyReader::code() {
  const size_t byte = codes_ / 4, shift = 2 * (codes_ % 4);
  ++codes_;
  return byte < types_.size() ? static_cast<uint8_t>(types_[byte]) >> shift & 3 : usual;
}

uint64_t KeyReader::big_endian(size_t bytes, bool inverted) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes; ++i) number = number << 8 | static_cast<uint8_t>(byte() ^ (inverted ? 0xff : 0));
  return number;
}

Bytes KeyReader::taken(size_t bytes) {
  Bytes out;
  if (bytes > key_.size() - at_) ok_ = false;
  for (size_t i = 0; ok_ && i < bytes; ++i) out.push_back(static_cast<char>(byte()));
  return out;
}

std::string KeyReader::text() {
  std::string out;
  while (ok_) {
    const uint8_t next = byte();
    if (next == 0) break;
    out.push_back(static_cast<char>(next == 1 ? byte() - 1 : next));
  }
  return out;
}

// The result is valid until the next call.
std::string_view KeyReader::cstring() {
  held_.clear();
  while (ok_) {
    const uint8_t next = byte();
    if (next == 0) break;
    held_.push_back(static_cast<char>(next));
  }
  return held_;
}

size_t KeyReader::length() {
  const uint8_t first = byte();
  return first < 0xff ? first : big_endian(4, false);
}

// Reads a double at or below the number's absolute value. A tail behind it belongs to a decimal, whose types say that the key
// doesn't give the value.
double KeyReader::truncated(bool negative) {
  const uint64_t bits = big_endian(8, negative);
  if (bits & 1) ok_ = false;
  const double number = std::bit_cast<double>(bits >> 1);
  return negative ? -number : number;
}

void KeyReader::whole_number(int bytes, bool negative, std::string_view name, Builder& out) {
  const uint8_t type = code();
  const uint64_t both = big_endian(static_cast<size_t>(bytes), negative);
  if (both & 1) {
    out.append(name, truncated(negative));
    return;
  }
  const auto number = static_cast<int64_t>(negative ? uint64_t{0} - (both >> 1) : both >> 1);
  if (type == as_double) {
    out.append(name, static_cast<double>(number));
  } else if (type == usual && fits_int32(number)) {
    out.append(name, static_cast<int32_t>(number));
  } else {
    out.append(name, number);
  }
}

void KeyReader::number(uint8_t kind, std::string_view name, Builder& out) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const int distance = std::abs(kind - number_kind::zero);
  const bool negative = kind < number_kind::zero;
  if (kind == number_kind::zero) {
    const uint8_t type = code();
    type == as_double ? out.append(name, 0.0) : type == as_int64 ? out.append(name, int64_t{0}) : out.append(name, 0);
  } else if (kind == number_kind::nan || kind == number_kind::infinity || kind == number_kind::negative_infinity) {
    code();
    out.append(name, kind == number_kind::nan ? std::numeric_limits<double>::quiet_NaN() : negative ? -infinity : infinity);
  } else if (distance == number_kind::small - number_kind::zero) {
    code();
    out.append(name, truncated(negative));
  } else if (distance == number_kind::large - number_kind::zero) {
    const uint8_t type = code();
    const double value = truncated(negative);
    type == as_int64 ? out.append(name, INT64_MIN) : out.append(name, value);
  } else {
    whole_number(distance - (number_kind::whole - number_kind::zero), negative, name, out);
  }
}

void KeyReader::fields(Builder& out) {
  while (ok_ && byte() != 0) {
    const std::string name(cstring());
    value(name, out);
  }
}

void KeyReader::elements(Builder& out) {
  for (size_t index = 0; ok_ && at_ < key_.size(); ++index) {
    if ((static_cast<uint8_t>(key_[at_]) ^ flip_) == 0) {
      ++at_;
      return;
    }
    value(std::to_string(index), out);
  }
  ok_ = false;
}

void KeyReader::value(std::string_view name, Builder& out) {
  if (depth_ == depth_max) ok_ = false;
  const uint8_t kind = byte();
  if (!ok_) return;
  if (kind >= number_kind::first && kind <= number_kind::last) return number(kind, name, out);
  const auto append = [&](Type type, BytesView bytes) { out.append(name, ValueView(type, bytes)); };
  ++depth_;
  switch (kind) {
    case kind::min_key: append(Type::min_key, {}); break;
    case kind::undefined: append(Type::undefined, {}); break;
    case kind::null:
      code();
      append(Type::null, {});
      break;
    case kind::string: out.append(name, text()); break;
    case kind::code: append(Type::code, Value(text()).view().bytes()); break;
    case kind::object: {
      auto object = out.object(name);
      fields(object);
      break;
    }
    case kind::array: {
      Builder array;
      elements(array);
      out.append_array(name, array.done());
      break;
    }
    case kind::binary: {
      const size_t bytes = length();
      const auto subtype = byte();
      Bytes content;
      base::append_le(content, static_cast<int32_t>(bytes));
      content.push_back(static_cast<char>(subtype));
      content += taken(bytes);
      if (ok_) append(Type::binary, content);
      break;
    }
    case kind::object_id: {
      const Bytes content = taken(12);
      if (ok_) append(Type::object_id, content);
      break;
    }
    case kind::boolean:
    case kind::boolean + 1: out.append(name, kind != kind::boolean); break;
    case kind::date: out.append(name, Date{static_cast<int64_t>(big_endian(8, false) ^ uint64_t{1} << 63)}); break;
    case kind::timestamp: {
      const uint64_t packed = big_endian(8, false);
      out.append(name, Timestamp{static_cast<uint32_t>(packed >> 32), static_cast<uint32_t>(packed)});
      break;
    }
    case kind::regex: {
      const std::string pattern(cstring());
      out.append(name, Regex{pattern, cstring()});
      break;
    }
    case kind::max_key: append(Type::max_key, {}); break;
    default: ok_ = false;
  }
  --depth_;
}

std::optional<size_t> KeyReader::next(bool descending, std::string_view name, Builder& out) {
  flip_ = descending ? 0xff : 0;
  if (ok_ && at_ < key_.size() && (static_cast<uint8_t>(key_[at_]) ^ flip_) == kind::null) {
    ++at_;
    const uint8_t there = code();
    if (there != 0) return there == in_object ? 1 : 0;
    out.append_null(name);
    return std::nullopt;
  }
  value(name, out);
  return std::nullopt;
}

}  // namespace bson
