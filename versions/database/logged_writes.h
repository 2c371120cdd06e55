// LoggedWrites reads the log's entries about one collection of a database with branches.
#pragma once

#include <string>

#include "storage/upkeep/entry_log.h"
#include "versions/log/branch_change.h"

namespace versions {

using storage::LoggedEntry;

class LoggedWrites {
 public:
  // A collection that came from another database has the UUID that it has there, even if both are on this server.
  struct Of {
    std::string db;
    Bytes uuid;
    storage::CollectionId collection = 0;
  };
  explicit LoggedWrites(Of of) : of_(std::move(of)) {}
  virtual ~LoggedWrites() = default;
  LoggedWrites(const LoggedWrites&) = delete;
  LoggedWrites& operator=(const LoggedWrites&) = delete;

  // Must be called with each entry, oldest first, and with each reason why entries can't be read, in their place.
  void meet(const LoggedEntry& entry);
  void meet_hole(const std::string& why);

 protected:
  virtual void write(const LoggedEntry& entry, const std::string& branch) = 0;
  virtual void change(const log::BranchChange& change, const LoggedEntry& entry) = 0;
  // The database is another one of that name from here on.
  virtual void dropped() = 0;
  // The entries so far tell nothing about those that come.
  virtual void hole() = 0;

  // The key of the document that a write is of, if the entry has its `_id`. Throws DataCorruptionDetected if that is missing.
  static Bytes key_of_entry(const LoggedEntry& entry);

  // Follows the branch that an entry makes, resets, drops or renames; returns false for other entries. `branches` has something
  // for each branch, by its name, and `restart(name, commit)` has a branch begin at a commit.
  template <class Branches, class Restart>
  static bool follow_branch(Branches& branches, const log::BranchChange& change, const Restart& restart) {
    if (const auto* created = std::get_if<log::CreateBranch>(&change)) {
      restart(created->branch, created->commit);
    } else if (const auto* reset = std::get_if<log::ResetBranch>(&change)) {
      restart(reset->branch, reset->commit);
    } else if (const auto* dropped = std::get_if<log::DropBranch>(&change)) {
      branches.erase(dropped->branch);
    } else if (const auto* renamed = std::get_if<log::RenameBranch>(&change)) {
      branches.erase(renamed->to);
      if (auto node = branches.extract(renamed->branch)) {
        node.key() = renamed->to;
        branches.insert(std::move(node));
      }
    } else {
      return false;
    }
    return true;
  }

  const Of of_;
  // The timestamp of the first entry since the log's beginning, or since the newest hole.
  Stamp known_from_ = 0;
  std::string why_hole_;  // the newest damage; empty: there is none
};

}  // namespace versions
