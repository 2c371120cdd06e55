// Every log entry that makes a commit has these fields: {…, time, metadata, id, trees, graft: {parents, collections,
// saysNothing}}.
#pragma once

#include "versions/branch/branches.h"
#include "versions/log/fields.h"

namespace versions::log {

struct MadeCommit {
  int64_t time_ms = 0;
  Bytes metadata = {};
  Hash id{};                             // a member that replays the entry must come to the same id
  std::map<Bytes, TreeKind> trees = {};  // by the collections' UUIDs; without those that have the default tree
  std::optional<Graft> graft = {};       // the commit stands elsewhere than its branch

  static MadeCommit of(const Commit& commit, const CommitInfo& info = {});
  CommitInfo info() const { return {.time_ms = time_ms, .metadata = metadata, .trees = trees, .graft = graft}; }

  void append_to(bson::Builder& command) const;
  static MadeCommit decode(const Fields& fields);
  bool operator==(const MadeCommit&) const = default;
};

}  // namespace versions::log
