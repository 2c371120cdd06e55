// An ImportedCommit is a commit as another server describes it. This server replays it, and must come to the same id.
#pragma once

#include "versions/branch/branches.h"

namespace versions {

// An ImportedRow is what the commit changed of one document, against its first parent.
struct ImportedRow {
  enum class Kind : uint8_t {
    insert,   // `body` is the document, which the parent doesn't show
    replace,  // `body` is the document
    update,   // `body` is a delta (dedup/delta.h) of what the parent shows
    remove,   // the commit's tree doesn't name the document, and the parent's does
    named,    // `body` is the hash of a document that was purged: the commit's tree names it, and nobody has it
  };
  Kind kind = Kind::insert;
  Bytes collection;  // UUID
  Bytes key;         // the key string of the `_id`
  Bytes body = {};
};

struct ImportedCommit {
  Hash id{};
  CommitNumber second_parent = 0;                  // 0: there is none
  CommitInfo info = {};                            // with the kind of each collection's tree
  std::vector<std::pair<Bytes, Hash>> roots = {};  // by UUID, of all collections that the commit has, in its order
  std::vector<ImportedRow> rows = {};              // at most one for each document
  std::set<Bytes> changed = {};                    // UUIDs of collections that have rows
  size_t bytes_max = SIZE_MAX;                     // of the rows and of the documents that they make
};

// A shallow history begins with a commit that shows nothing and that no other commit names: rows that are against nothing need a
// place to stand. Its metadata are these, which no client can give a commit. `first` is the commit with which the whole history
// begins elsewhere, as the first pack said.
Bytes shallow_root_metadata(const std::optional<Hash>& first = {});
bool begins_shallow(const Commit& first);
bool is_shallow_root(const Commit& commit);  // Returns whether the commit begins a shallow history and wasn't dropped.
// The first commit of the history: the database's own, or what its shallow root says; nullopt: nothing says it, or retention
// dropped what did.
std::optional<Hash> first_of_history(Transaction& transaction, const VersionGraph& graph);

// The error of a commit whose rows or documents take more than `bytes_max`.
base::OperationError too_large(const ImportedCommit& commit);

// Throws FailedToParse for a row whose body doesn't make a document of the row's key. `before` is the document that the parent
// shows; nullopt: it shows none, and then an update throws OperationFailed.
Bytes document_of(const ImportedRow& row, const std::optional<Bytes>& before);

}  // namespace versions
