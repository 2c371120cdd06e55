// This file has the BSON types, and small value types for those that C++ has none for.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace bson {

using base::Bytes;
using base::BytesView;

enum class Type : uint8_t {
  eod = 0x00,
  number_double = 0x01,
  string = 0x02,
  object = 0x03,
  array = 0x04,
  binary = 0x05,
  undefined = 0x06,
  object_id = 0x07,
  boolean = 0x08,
  date = 0x09,
  null = 0x0a,
  regex = 0x0b,
  db_pointer = 0x0c,
  code = 0x0d,
  symbol = 0x0e,
  code_with_scope = 0x0f,
  int32 = 0x10,
  timestamp = 0x11,
  int64 = 0x12,
  decimal128 = 0x13,
  max_key = 0x7f,
  min_key = 0xff,
};

// Returns the name that `$type` and error messages use: "double", "string", "objectId", "long" …
std::string_view type_name(Type type);

inline bool is_number(Type type) {
  return type == Type::number_double || type == Type::int32 || type == Type::int64 || type == Type::decimal128;
}

struct ObjectId {
  std::array<uint8_t, 12> bytes{};
  auto operator<=>(const ObjectId&) const = default;

  // Returns an ObjectId that is unique within the process and, by its random part, across processes. Thread-safe.
  static ObjectId generate();
  std::string to_hex() const;
};

struct Timestamp {
  uint32_t seconds = 0;
  uint32_t increment = 0;
  auto operator<=>(const Timestamp&) const = default;
  uint64_t packed() const { return (uint64_t{seconds} << 32) | increment; }
};

struct Date {
  int64_t ms = 0;  // since 1970-01-01 UTC, may be negative
  auto operator<=>(const Date&) const = default;
};

// An IEEE 754-2008 decimal128 in BID layout, as BSON stores it.
struct Decimal128 {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Decimal128&) const = default;
};

struct Regex {
  std::string_view pattern;
  std::string_view options;
};

struct Binary {
  uint8_t subtype = 0;
  BytesView bytes;
};

}  // namespace bson
