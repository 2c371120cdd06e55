#include "bson/types.h"

#include <atomic>

#include "base/clock.h"
#include "base/random.h"

namespace bson {

std::string_view type_name(Type type) {
  switch (type) {
    case Type::eod: return "missing";
    case Type::number_double: return "double";
    case Type::string: return "string";
    case Type::object: return "object";
    case Type::array: return "array";
    case Type::binary: return "binData";
    case Type::undefined: return "undefined";
    case Type::object_id: return "objectId";
    case Type::boolean: return "bool";
    case Type::date: return "date";
    case Type::null: return "null";
    case Type::regex: return "regex";
    case Type::db_pointer: return "dbPointer";
    case Type::code: return "javascript";
    case Type::symbol: return "symbol";
    case Type::code_with_scope: return "javascriptWithScope";
    case Type::int32: return "int";
    case Type::timestamp: return "timestamp";
    case Type::int64: return "long";
    case Type::decimal128: return "decimal";
    case Type::max_key: return "maxKey";
    case Type::min_key: return "minKey";
  }
  return "invalid";
}

ObjectId ObjectId::generate() {
  // An ObjectId is 4 bytes of seconds, 5 that are random for the process and 3 that count up, all big-endian.
  static const uint64_t process = base::entropy64();
  static std::atomic<uint32_t> counter{static_cast<uint32_t>(base::entropy64())};
  const auto seconds = static_cast<uint32_t>(base::system_clock().wall_ms() / 1000);
  const uint32_t count = counter.fetch_add(1, std::memory_order_relaxed);
  ObjectId id;
  for (int i = 0; i < 4; ++i) id.bytes[i] = static_cast<uint8_t>(seconds >> (24 - 8 * i));
  for (int i = 0; i < 5; ++i) id.bytes[4 + i] = static_cast<uint8_t>(process >> (8 * i));
  for (int i = 0; i < 3; ++i) id.bytes[9 + i] = static_cast<uint8_t>(count >> (16 - 8 * i));
  return id;
}

std::string ObjectId::to_hex() const {
  return base::to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace bson
