// These are the log entries of declared snapshots; they are commands of the database admin.
//
//   {createSnapshot: 42, name: "before", time, at: Timestamp}
//   {dropSnapshot: 42}
//
// branch_entries.h says what holds for `encode` and `decode`.
#pragma once

#include <variant>

#include "versions/log/fields.h"
#include "versions/past/snapshots.h"

namespace versions::log {

constexpr std::string_view snapshots_database = "admin";

struct CreateSnapshot {
  static constexpr std::string_view name = "createSnapshot";
  past::DeclaredSnapshot snapshot = {};  // its timestamp isn't that of the entry

  bson::Document encode() const;
  static CreateSnapshot decode(bson::DocumentView command);
};

struct DropSnapshot {
  static constexpr std::string_view name = "dropSnapshot";
  uint64_t number = 0;

  bson::Document encode() const;
  static DropSnapshot decode(bson::DocumentView command);
  bool operator==(const DropSnapshot&) const = default;
};

using SnapshotChange = std::variant<CreateSnapshot, DropSnapshot>;

// Throws DataCorruptionDetected also for an unknown name.
SnapshotChange decode_snapshot_change(bson::DocumentView command);

}  // namespace versions::log
