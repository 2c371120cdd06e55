#include "bson/key_id.h"

#include <bit>
#include <limits>

#include "bson/builder.h"

namespace bson {

namespace {

constexpr uint8_t kind_null = 0x20, kind_zero = 0x3c, kind_string = 0x50, kind_binary = 0x68, kind_object_id = 0x70, kind_false = 0x78, kind_true = 0x79, kind_date = 0x80;
constexpr uint8_t kind_nan = 0x30, kind_minus_infinity = 0x31, kind_infinity = 0x47;

uint64_t big_endian(BytesView bytes, uint8_t inverted) {
  uint64_t number = 0;
  for (const char c : bytes) number = number << 8 | (static_cast<uint8_t>(c) ^ inverted);
  return number;
}

// docs/formats/key-string.md, "Numbers".
bool append_number(Builder& out, uint8_t kind, BytesView body) {
  const bool negative = kind < kind_zero;
  const uint8_t inverted = negative ? 0xff : 0;
  const int size = negative ? kind_zero - 1 - kind : kind - kind_zero - 1;  // of the whole part; 0: there is none, 9: too large for one
  uint64_t whole = 0;
  bool fraction = size == 0 || size == 9;
  if (!fraction) {
    if (body.size() < static_cast<size_t>(size)) return false;
    const uint64_t first = big_endian(body.substr(0, static_cast<size_t>(size)), inverted);
    body.remove_prefix(static_cast<size_t>(size));
    whole = first / 2;
    fraction = first % 2 != 0;
  }
  if (!fraction) {
    const auto value = static_cast<int64_t>(negative ? 0 - whole : whole);
    if (!body.empty()) return false;
    if (value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max()) out.append("_id", static_cast<int32_t>(value));
    else out.append("_id", value);
    return true;
  }
  if (body.size() != 8) return false;
  const uint64_t bits = big_endian(body, inverted);
  if (bits % 2 != 0) return false;  // between two doubles
  const auto value = std::bit_cast<double>(bits / 2);
  out.append("_id", negative ? -value : value);
  return true;
}

bool append_string(Builder& out, BytesView body) {
  Bytes text;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] == 0) {
      if (i + 1 != body.size()) return false;
      out.append("_id", std::string_view(text));
      return true;
    }
    if (body[i] == 1 && i + 1 == body.size()) return false;
    text.push_back(body[i] == 1 ? static_cast<char>(body[++i] - 1) : body[i]);
  }
  return false;
}

bool append_binary(Builder& out, BytesView body) {
  if (body.empty()) return false;
  uint64_t size = static_cast<uint8_t>(body[0]);
  body.remove_prefix(1);
  if (size == 0xff) {
    if (body.size() < 4) return false;
    size = big_endian(body.substr(0, 4), 0);
    body.remove_prefix(4);
  }
  if (body.size() != size + 1) return false;
  out.append("_id", Binary{static_cast<uint8_t>(body[0]), body.substr(1)});
  return true;
}

bool append_value(Builder& out, uint8_t kind, BytesView body) {
  switch (kind) {
    case kind_null: out.append_null("_id"); return body.empty();
    case kind_nan: out.append("_id", std::numeric_limits<double>::quiet_NaN()); return body.empty();
    case kind_minus_infinity: out.append("_id", -std::numeric_limits<double>::infinity()); return body.empty();
    case kind_infinity: out.append("_id", std::numeric_limits<double>::infinity()); return body.empty();
    case kind_zero: out.append("_id", 0); return body.empty();
    case kind_false:
    case kind_true: out.append("_id", kind == kind_true); return body.empty();
    case kind_string: return append_string(out, body);
    case kind_binary: return append_binary(out, body);
    case kind_object_id: {
      if (body.size() != 12) return false;
      ObjectId id;
      std::copy(body.begin(), body.end(), id.bytes.begin());
      out.append("_id", id);
      return true;
    }
    case kind_date:
      if (body.size() != 8) return false;
      out.append("_id", Date{static_cast<int64_t>(big_endian(body, 0) ^ (uint64_t{1} << 63))});
      return true;
    default: return kind > kind_minus_infinity && kind < kind_infinity && append_number(out, kind, body);
  }
}

}  // namespace

std::optional<Document> id_of_key(BytesView key) {
  if (key.empty()) return std::nullopt;
  Builder out;
  if (!append_value(out, static_cast<uint8_t>(key[0]), key.substr(1))) return std::nullopt;
  return out.done();
}

}  // namespace bson
