#include "bson/value.h"

namespace bson {

Value::Value(Timestamp value) : type_(Type::timestamp) {
  base::append_le(bytes_, value.packed());
}

Value::Value(Decimal128 value) : type_(Type::decimal128) {
  base::append_le(bytes_, value.low);
  base::append_le(bytes_, value.high);
}

Value::Value(const ObjectId& value)
    : type_(Type::object_id), bytes_(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()) {}

Value::Value(std::string_view value) : type_(Type::string) {
  bytes_.reserve(4 + value.size() + 1);
  base::append_le(bytes_, static_cast<uint32_t>(value.size() + 1));
  bytes_.append(value);
  bytes_.push_back('\0');
}

}  // namespace bson
