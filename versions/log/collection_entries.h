// These log entries say which collections a branch has.
//
//   {makeCollection: "dev", collection: uuid}
//   {dropCollection: "dev", collection: uuid}
//   {takeCollection: "dev", collection: uuid, from: "tmp.agg_out.…"}
//
// branch_entries.h says what holds for `encode` and `decode`.
#pragma once

#include "versions/log/fields.h"

namespace versions::log {

struct MakeCollection {
  static constexpr std::string_view name = "makeCollection";
  std::string branch;
  Bytes collection;  // UUID

  bson::Document encode() const;
  static MakeCollection decode(bson::DocumentView command);
  bool operator==(const MakeCollection&) const = default;
};

struct DropCollection {
  static constexpr std::string_view name = "dropCollection";
  std::string branch;
  Bytes collection;  // UUID

  bson::Document encode() const;
  static DropCollection decode(bson::DocumentView command);
  bool operator==(const DropCollection&) const = default;
};

// The branch's documents are from now on those that were written on `from`.
struct TakeCollection {
  static constexpr std::string_view name = "takeCollection";
  std::string branch;
  Bytes collection;  // UUID
  std::string from;

  bson::Document encode() const;
  static TakeCollection decode(bson::DocumentView command);
  bool operator==(const TakeCollection&) const = default;
};

}  // namespace versions::log
