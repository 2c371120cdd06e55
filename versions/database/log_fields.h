// What the log says of changes of branches: the fields of the commands that storage::BranchLog is told of. docs/formats/oplog.md.
#pragma once

#include "bson/builder.h"
#include "versions/branch/branches.h"

namespace versions::log {

// A commit's id, on every machine.
inline bson::Binary id(const Commit& commit) {
  return {0, view(commit.id)};
}

// {…, time, metadata, id} of the commit that was made, and {…, trees} where it was made with any.
void append(bson::Builder& command, const Commit& commit, const CommitInfo& info = {});
void append(bson::Builder& command, std::string_view field, Stamp stamp);
// {…, below, others}
void append(bson::Builder& command, const Held& held);

// They read what is appended; each throws DataCorruptionDetected where it isn't there.
CommitInfo commit_info(bson::DocumentView command);
TreeKind tree_kind(bson::DocumentView command);  // its field `tree`
Held held(bson::DocumentView command);
std::string text(bson::DocumentView command, std::string_view field);
bson::DocumentView object(bson::DocumentView command, std::string_view field);
BytesView binary(const bson::ValueView& value);
BytesView binary(bson::DocumentView command, std::string_view field);
RetentionPolicy retention(bson::DocumentView command);
bson::DocumentView array(bson::DocumentView command, std::string_view field);
Stamp stamp(bson::DocumentView command, std::string_view field);
int64_t number(bson::DocumentView command, std::string_view field);
// The commit that a value, or a field, names.
CommitNumber commit(Transaction& transaction, const VersionGraph& graph, const bson::ValueView& id);
CommitNumber commit(Transaction& transaction, const VersionGraph& graph, bson::DocumentView command, std::string_view field);

[[noreturn]] void refuse(const std::string& what);

}  // namespace versions::log
