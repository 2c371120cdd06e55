#include "bson/hashed_key.h"

#include <bit>
#include <cstring>

#include "bson/compare.h"
#include "bson/decimal.h"
#include "bson/md5.h"
#include "bson/value.h"

namespace bson {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are hashed as they stand in memory");

class Hasher {
 public:
  Hasher() { add_number(int32_t{0}); }  // the seed

  void add(const ValueView& value, const std::string_view* name) {
    add_number(static_cast<int32_t>(canonical_rank(value.type())));
    if (name) {
      add_bytes(*name);
      add_bytes(std::string_view("", 1));
    }
    if (value.is_number()) return add_number(whole(value));
    if (value.is_object() || value.is_array()) return add_fields(value.as_document());
    if (value.type() == Type::code_with_scope) return add_code(value.bytes());
    add_bytes(value.bytes());
  }

  int64_t finish() {
    const auto digest = md5_.digest();
    int64_t key = 0;
    std::memcpy(&key, digest.data(), sizeof key);
    return key;
  }

 private:
  // A decimal is rounded half to even; a double is cut off.
  static int64_t whole(const ValueView& value) {
    if (value.type() != Type::decimal128) return value.to_int64();
    const Decimal128 decimal = value.as_decimal128();
    const Value rounded(decimal_is_nan(decimal) ? decimal : decimal_integral(decimal, Rounding::half_even));
    return rounded.view().to_int64();
  }

  void add_fields(DocumentView fields) {
    for (const Element& field : fields) add(field, &field.name);
    add_number(int32_t{0});
  }

  // The value is its size as int32, then the code as a string, then the scope.
  void add_code(BytesView bytes) {
    int32_t size = 0;
    std::memcpy(&size, bytes.data() + 4, sizeof size);
    add_bytes(bytes.substr(8, static_cast<size_t>(size)));
    add_fields(DocumentView(bytes.substr(8 + static_cast<size_t>(size))));
  }

  template <class Number>
  void add_number(Number number) {
    md5_.append({reinterpret_cast<const char*>(&number), sizeof number});
  }
  void add_bytes(std::string_view bytes) { md5_.append(bytes); }

  Md5 md5_;
};

}  // namespace

int64_t hashed_key(const ValueView& value) {
  Hasher hasher;
  hasher.add(value, nullptr);
  return hasher.finish();
}

}  // namespace bson
