// These log entries make, move and drop branches and tags.
//
//   {beginBranches: 1, time, metadata, id}
//   {createBranch: "dev", from: "main", commit}
//   {dropBranch: "dev"}
//   {renameBranch: "dev", to: "next"}
//   {resetBranch: "dev", commit}
//   {createTag: "v1", commit}
//   {dropTag: "v1"}
//
// `encode` gives an entry's bytes, which never change for the same values. `decode` throws DataCorruptionDetected for a damaged
// entry. The same holds for all families of entries in this folder.
#pragma once

#include "versions/log/made_commit.h"

namespace versions::log {

// BeginBranches makes the first branch of a database, with the first commit.
struct BeginBranches {
  static constexpr std::string_view name = "beginBranches";
  MadeCommit made;

  bson::Document encode() const;
  static BeginBranches decode(bson::DocumentView command);
  bool operator==(const BeginBranches&) const = default;
};

struct CreateBranch {
  static constexpr std::string_view name = "createBranch";
  std::string branch;
  std::optional<std::string> from = {};  // nullopt: it is made from a commit that is no branch's
  Hash commit{};

  bson::Document encode() const;
  static CreateBranch decode(bson::DocumentView command);
  bool operator==(const CreateBranch&) const = default;
};

struct DropBranch {
  static constexpr std::string_view name = "dropBranch";
  std::string branch;

  bson::Document encode() const;
  static DropBranch decode(bson::DocumentView command);
  bool operator==(const DropBranch&) const = default;
};

struct RenameBranch {
  static constexpr std::string_view name = "renameBranch";
  std::string branch, to;

  bson::Document encode() const;
  static RenameBranch decode(bson::DocumentView command);
  bool operator==(const RenameBranch&) const = default;
};

struct ResetBranch {
  static constexpr std::string_view name = "resetBranch";
  std::string branch;
  Hash commit{};

  bson::Document encode() const;
  static ResetBranch decode(bson::DocumentView command);
  bool operator==(const ResetBranch&) const = default;
};

struct CreateTag {
  static constexpr std::string_view name = "createTag";
  std::string tag;
  Hash commit{};

  bson::Document encode() const;
  static CreateTag decode(bson::DocumentView command);
  bool operator==(const CreateTag&) const = default;
};

struct DropTag {
  static constexpr std::string_view name = "dropTag";
  std::string tag;

  bson::Document encode() const;
  static DropTag decode(bson::DocumentView command);
  bool operator==(const DropTag&) const = default;
};

}  // namespace versions::log
