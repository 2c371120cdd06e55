#include "bson/compare.h"

#include <cmath>

#include "base/hash.h"
#include "bson/decimal.h"
#include "bson/number_key.h"
#include "bson/numeric.h"

namespace bson {
namespace {

template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

int compare_doubles(double a, double b) {
  if (a < b) return -1;
  if (a > b) return 1;
  if (a == b) return 0;
  return static_cast<int>(std::isnan(b)) - static_cast<int>(std::isnan(a));
}

int compare_int64_double(int64_t a, double b) {
  constexpr double two_63 = 9223372036854775808.0;
  if (std::isnan(b) || b < -two_63) return 1;
  if (b >= two_63) return -1;
  const auto whole = static_cast<int64_t>(b);
  if (a != whole) return a < whole ? -1 : 1;
  return three_way(0.0, b - static_cast<double>(whole));
}

int compare_decimal_double(const Decimal128& a, double b) {
  if (decimal_is_nan(a) || std::isnan(b)) return static_cast<int>(std::isnan(b)) - static_cast<int>(decimal_is_nan(a));
  const TruncatedDouble truncated = decimal_truncate_to_double(a);
  // A tiny decimal truncates to a zero of its sign and is still beyond it.
  if (truncated.value != b) return truncated.value < b ? -1 : 1;
  if (truncated.exact) return 0;
  return decimal_is_negative(a) ? -1 : 1;
}

int compare_numbers(const ValueView& a, const ValueView& b) {
  if (a.is_integer()) {
    const int64_t left = a.type() == Type::int32 ? a.as_int32() : a.as_int64();
    switch (b.type()) {
      case Type::int32: return three_way<int64_t>(left, b.as_int32());
      case Type::int64: return three_way(left, b.as_int64());
      case Type::number_double: return compare_int64_double(left, b.as_double());
      default: return decimal_compare(decimal_from_int64(left), b.as_decimal128());
    }
  }
  if (b.is_integer()) return -compare_numbers(b, a);
  const bool left_double = a.type() == Type::number_double;
  const bool right_double = b.type() == Type::number_double;
  if (left_double && right_double) return compare_doubles(a.as_double(), b.as_double());
  if (right_double) return compare_decimal_double(a.as_decimal128(), b.as_double());
  if (left_double) return -compare_decimal_double(b.as_decimal128(), a.as_double());
  return decimal_compare(a.as_decimal128(), b.as_decimal128());
}

// Binary values and DBPointers are ordered by length first, because their bytes begin with it.
int compare_sized(const ValueView& a, const ValueView& b) {
  if (a.bytes().size() != b.bytes().size()) return three_way(a.bytes().size(), b.bytes().size());
  return a.bytes().compare(b.bytes());
}

int compare_elements(DocumentView a, DocumentView b, bool names, const Collator* collator = nullptr) {
  auto left = a.begin(), right = b.begin();
  for (; left != a.end() && right != b.end(); ++left, ++right) {
    const int ranks = canonical_rank(left->type()) - canonical_rank(right->type());
    if (ranks != 0) return ranks;
    if (names) {
      const int order = left->name.compare(right->name);
      if (order != 0) return order;
    }
    const int order = compare(*left, *right, collator);
    if (order != 0) return order;
  }
  return static_cast<int>(left != a.end()) - static_cast<int>(right != b.end());
}

int compare_regexes(const Regex& a, const Regex& b) {
  const int order = a.pattern.compare(b.pattern);
  return order != 0 ? order : a.options.compare(b.options);
}

}  // namespace

int canonical_rank(Type type) {
  switch (type) {
    case Type::min_key: return -1;
    case Type::eod:
    case Type::undefined: return 0;
    case Type::null: return 5;
    case Type::number_double:
    case Type::int32:
    case Type::int64:
    case Type::decimal128: return 10;
    case Type::string:
    case Type::symbol: return 15;
    case Type::object: return 20;
    case Type::array: return 25;
    case Type::binary: return 30;
    case Type::object_id: return 35;
    case Type::boolean: return 40;
    case Type::date: return 45;
    case Type::timestamp: return 47;
    case Type::regex: return 50;
    case Type::db_pointer: return 55;
    case Type::code: return 60;
    case Type::code_with_scope: return 65;
    case Type::max_key: return 127;
  }
  return 0;
}

int compare(const ValueView& a, const ValueView& b) {
  if (a.type() != b.type()) {
    const int ranks = canonical_rank(a.type()) - canonical_rank(b.type());
    if (ranks != 0) return ranks;
  }
  switch (a.type()) {
    case Type::eod:
    case Type::undefined:
    case Type::null:
    case Type::min_key:
    case Type::max_key: return 0;
    case Type::number_double:
    case Type::int32:
    case Type::int64:
    case Type::decimal128: return compare_numbers(a, b);
    case Type::string:
    case Type::symbol:
    case Type::code: return a.as_string().compare(b.as_string());
    case Type::object: return compare_elements(a.as_document(), b.as_document(), true);
    case Type::array: return compare_elements(a.as_document(), b.as_document(), false);
    case Type::binary:
    case Type::db_pointer: return compare_sized(a, b);
    case Type::object_id: return a.bytes().compare(b.bytes());
    case Type::boolean: return static_cast<int>(a.as_bool()) - static_cast<int>(b.as_bool());
    case Type::date: return three_way(a.as_int64(), b.as_int64());
    case Type::timestamp: return three_way(a.as_timestamp().packed(), b.as_timestamp().packed());
    case Type::regex: return compare_regexes(a.as_regex(), b.as_regex());
    case Type::code_with_scope: {
      const int order = a.code_with_scope_code().compare(b.code_with_scope_code());
      return order != 0 ? order : compare_elements(a.code_with_scope_scope(), b.code_with_scope_scope(), true);
    }
  }
  return 0;
}

int compare_collated(const ValueView& a, const ValueView& b, const Collator& collator) {
  const bool collatable = is_collatable(a.type()) && canonical_rank(a.type()) == canonical_rank(b.type());
  if (!collatable) return compare(a, b);
  if (a.is_object()) return compare_elements(a.as_document(), b.as_document(), true, &collator);
  if (a.is_array()) return compare_elements(a.as_document(), b.as_document(), false, &collator);
  return collator.compare(a.as_string(), b.as_string());
}

int compare(DocumentView a, DocumentView b) {
  // Equal bytes are equal values (NaN equals itself), and comparing bytes is ten times as fast as walking through them.
  return a.bytes() == b.bytes() ? 0 : compare_elements(a, b, true);
}

int compare_arrays(DocumentView a, DocumentView b) {
  return compare_elements(a, b, false);
}

uint64_t hash_value(const ValueView& value, uint64_t seed, const Collator* collator) {
  const uint64_t mixed = seed * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(canonical_rank(value.type()) + 2);
  switch (value.type()) {
    case Type::number_double:
    case Type::int32:
    case Type::int64:
    case Type::decimal128: {
      char key[number_key_bytes_max];
      return base::hash64({key, number_key(value, key)}, mixed);
    }
    case Type::object: {
      uint64_t hash = base::hash64({}, mixed);
      for (const Element& field : value.as_document()) hash = hash_value(field, base::hash64(field.name, hash), collator);
      return hash;
    }
    case Type::array: {
      uint64_t hash = base::hash64({}, mixed);
      for (const Element& element : value.as_document()) hash = hash_value(element, hash, collator);
      return hash;
    }
    case Type::code_with_scope:
      return hash_value(ValueView(Type::object, value.code_with_scope_scope().bytes()),
                        base::hash64(value.code_with_scope_code(), mixed));
    case Type::boolean: return base::hash64(value.as_bool() ? "t" : "f", mixed);
    case Type::string:
    case Type::symbol: {
      if (!collator) return base::hash64(value.bytes(), mixed);
      Bytes key;
      collator->append_key(key, value.as_string());
      return base::hash64(key, mixed);
    }
    default: return base::hash64(value.bytes(), mixed);
  }
}

}  // namespace bson
