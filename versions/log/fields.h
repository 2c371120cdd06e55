// These functions read fields of log entries about branches and snapshots. They throw where a field isn't what an encoder writes.
#pragma once

#include <string>
#include <vector>

#include "bson/builder.h"
#include "storage/engine/record_id.h"
#include "versions/branch/tree_kind.h"

namespace versions::log {

using base::Bytes;
using base::BytesView;
using merkle::Hash;
using storage::Stamp;

// Throws DataCorruptionDetected. `what` is a sentence about the entry.
[[noreturn]] void refuse(const std::string& what);

// Reads the fields of one entry, or of an object in it. It borrows the document. A field that is missing, or has another type or
// length than the encoders give it, throws DataCorruptionDetected, and the message names the entry and the field. Fields that
// nobody asks for are passed over.
class Fields {
 public:
  // The entry's first field has the entry's name.
  explicit Fields(bson::DocumentView command);

  std::string_view name() const { return name_; }
  bool has(std::string_view field) const { return document_.find(field).exists(); }

  std::string text(std::string_view field) const;
  int32_t number(std::string_view field) const;
  int64_t long_number(std::string_view field) const;
  int64_t date_ms(std::string_view field) const;
  Stamp timestamp(std::string_view field) const;
  Bytes bytes(std::string_view field) const;
  Bytes uuid(std::string_view field) const;  // 16 bytes
  Hash hash(std::string_view field) const;
  bson::Document object(std::string_view field) const;
  bson::ValueView any(std::string_view field) const;
  TreeKind tree(std::string_view field) const;

  std::vector<Stamp> timestamps(std::string_view field) const;
  std::vector<Bytes> uuids(std::string_view field) const;
  std::vector<Hash> hashes(std::string_view field) const;
  // Fields of each object of an array. An error names the entry and the field in the object.
  std::vector<Fields> objects(std::string_view field) const;

  // The entry is about no branch, and its first field is 1.
  void require_one() const;
  [[noreturn]] void refuse_field(std::string_view field, const char* wanted) const;

 private:
  Fields(std::string_view name, bson::DocumentView document) : name_(name), document_(document) {}
  bson::ValueView value(std::string_view field, bson::Type type, const char* wanted) const;

  std::string_view name_;
  bson::DocumentView document_;
};

// Fields as the readers above want them.
bson::Timestamp timestamp(Stamp stamp);
bson::Binary binary_of(const Hash& hash);
bson::Binary binary_of_uuid(BytesView uuid);

}  // namespace versions::log
