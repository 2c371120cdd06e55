// These log entries say what goes from history, and what may come into it.
//
//   {setRetention: 1, newest, ageMs}
//   {setCommitValidators: 1, validators: {…}}
//   {sweep: 1, commits: [id, …]}
//   {freeNodes: 1}
//   {purge: "orders", _id}
//
// branch_entries.h says what holds for `encode` and `decode`.
#pragma once

#include "bson/value.h"
#include "versions/branch/retention.h"
#include "versions/log/fields.h"

namespace versions::log {

struct SetRetention {
  static constexpr std::string_view name = "setRetention";
  RetentionPolicy policy = {};

  bson::Document encode() const;
  static SetRetention decode(bson::DocumentView command);
};

struct SetCommitValidators {
  static constexpr std::string_view name = "setCommitValidators";
  bson::Document validators;

  bson::Document encode() const;
  static SetCommitValidators decode(bson::DocumentView command);
};

// The sweep drops these commits, and frees what they alone show.
struct Sweep {
  static constexpr std::string_view name = "sweep";
  std::vector<Hash> commits = {};

  bson::Document encode() const;
  static Sweep decode(bson::DocumentView command);
  bool operator==(const Sweep&) const = default;
};

// Some nodes of hash trees go that only dropped commits had.
struct FreeNodes {
  static constexpr std::string_view name = "freeNodes";

  bson::Document encode() const;
  static FreeNodes decode(bson::DocumentView command);
};

// One document goes from every branch, commit and snapshot.
struct Purge {
  static constexpr std::string_view name = "purge";
  std::string collection;  // the name without the database's
  bson::Value id;

  bson::Document encode() const;
  static Purge decode(bson::DocumentView command);
};

}  // namespace versions::log
