#include "versions/log/fields.h"

#include "base/error.h"

namespace versions::log {

namespace {

constexpr size_t uuid_bytes = 16;
constexpr uint8_t generic_subtype = 0, uuid_subtype = 4;

bool is_uuid(const bson::ValueView& value) {
  if (value.type() != bson::Type::binary) return false;
  const bson::Binary binary = value.as_binary();
  return binary.subtype == uuid_subtype && binary.bytes.size() == uuid_bytes;
}

bool is_hash(const bson::ValueView& value) {
  if (value.type() != bson::Type::binary) return false;
  const bson::Binary binary = value.as_binary();
  return binary.subtype == generic_subtype && binary.bytes.size() == sizeof(Hash);
}

}  // namespace

void refuse(const std::string& what) {
  throw base::OperationError(base::ErrorCode::data_corruption_detected, what);
}

Fields::Fields(bson::DocumentView command) : document_(command) {
  if (command.empty()) refuse("a log entry about branches is empty");
  name_ = command.begin()->name;
}

void Fields::refuse_field(std::string_view field, const char* wanted) const {
  refuse("the log entry '" + std::string(name_) + "' can't be read: its field '" + std::string(field) + "' must be " + wanted +
         (has(field) ? "" : ", and is missing"));
}

bson::ValueView Fields::value(std::string_view field, bson::Type type, const char* wanted) const {
  const auto found = document_.find(field);
  if (found.type() != type) refuse_field(field, wanted);
  return static_cast<bson::ValueView>(found);
}

std::string Fields::text(std::string_view field) const {
  return std::string(value(field, bson::Type::string, "a string").as_string());
}

int32_t Fields::number(std::string_view field) const {
  return value(field, bson::Type::int32, "a 32-bit integer").as_int32();
}

int64_t Fields::long_number(std::string_view field) const {
  return value(field, bson::Type::int64, "a 64-bit integer").as_int64();
}

int64_t Fields::date_ms(std::string_view field) const {
  return value(field, bson::Type::date, "a date").as_date().ms;
}

Stamp Fields::timestamp(std::string_view field) const {
  return value(field, bson::Type::timestamp, "a timestamp").as_timestamp().packed();
}

Bytes Fields::bytes(std::string_view field) const {
  constexpr char wanted[] = "binary data of subtype 0";
  const bson::Binary binary = value(field, bson::Type::binary, wanted).as_binary();
  if (binary.subtype != generic_subtype) refuse_field(field, wanted);
  return Bytes(binary.bytes);
}

Bytes Fields::uuid(std::string_view field) const {
  const auto found = static_cast<bson::ValueView>(document_.find(field));
  if (!is_uuid(found)) refuse_field(field, "a UUID");
  return Bytes(found.as_binary().bytes);
}

Hash Fields::hash(std::string_view field) const {
  const auto found = static_cast<bson::ValueView>(document_.find(field));
  if (!is_hash(found)) refuse_field(field, "a hash of 32 bytes");
  return merkle::read_hash(found.as_binary().bytes.data());
}

bson::Document Fields::object(std::string_view field) const {
  return bson::Document(value(field, bson::Type::object, "an object").as_document());
}

bson::ValueView Fields::any(std::string_view field) const {
  const auto found = document_.find(field);
  if (!found.exists()) refuse_field(field, "there");
  return static_cast<bson::ValueView>(found);
}

TreeKind Fields::tree(std::string_view field) const {
  const bson::Document tree = object(field);
  // read_tree_kind reads a client's option, and so takes more than an encoder writes: a tree without a name, any number.
  const auto named = tree["tree"], buckets = tree["buckets"];
  try {
    const TreeKind kind = read_tree_kind(tree);
    const bool is_bucket_tree = kind.structure == merkle::Structure::bucket_tree;
    if (named.exists() && (is_bucket_tree ? buckets.type() == bson::Type::int32 : !buckets.exists())) return kind;
  } catch (const base::OperationError&) {
    // It is refused below: what read_tree_kind throws is about a client's option.
  }
  refuse_field(field, "a kind of hash tree");
}

std::vector<Stamp> Fields::timestamps(std::string_view field) const {
  constexpr char wanted[] = "an array of timestamps";
  std::vector<Stamp> all;
  for (const auto& one : value(field, bson::Type::array, wanted).as_document()) {
    if (one.type() != bson::Type::timestamp) refuse_field(field, wanted);
    all.push_back(one.as_timestamp().packed());
  }
  return all;
}

std::vector<Bytes> Fields::uuids(std::string_view field) const {
  constexpr char wanted[] = "an array of UUIDs";
  std::vector<Bytes> all;
  for (const auto& one : value(field, bson::Type::array, wanted).as_document()) {
    if (!is_uuid(one)) refuse_field(field, wanted);
    all.emplace_back(one.as_binary().bytes);
  }
  return all;
}

std::vector<Hash> Fields::hashes(std::string_view field) const {
  constexpr char wanted[] = "an array of hashes";
  std::vector<Hash> all;
  for (const auto& one : value(field, bson::Type::array, wanted).as_document()) {
    if (!is_hash(one)) refuse_field(field, wanted);
    all.push_back(merkle::read_hash(one.as_binary().bytes.data()));
  }
  return all;
}

std::vector<Fields> Fields::objects(std::string_view field) const {
  constexpr char wanted[] = "an array of objects";
  std::vector<Fields> all;
  for (const auto& one : value(field, bson::Type::array, wanted).as_document()) {
    if (!one.is_object()) refuse_field(field, wanted);
    all.push_back(Fields(name_, one.as_document()));
  }
  return all;
}

void Fields::require_one() const {
  if (number(name_) != 1) refuse_field(name_, "1");
}

bson::Timestamp timestamp(Stamp stamp) {
  return {static_cast<uint32_t>(stamp >> 32), static_cast<uint32_t>(stamp)};
}

bson::Binary binary_of(const Hash& hash) {
  return {generic_subtype, merkle::view(hash)};
}

bson::Binary binary_of_uuid(BytesView uuid) {
  return {uuid_subtype, uuid};
}

}  // namespace versions::log
