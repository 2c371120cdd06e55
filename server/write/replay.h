// This file replays one entry of a log: it is what applyOps does with changes of documents.
//
//   i  inserts the document, and replaces one that exists under its _id
//   u  {$v: 2, diff}, modifiers or a replacement: changes the document that o2 names, if it still exists
//   d  removes the document that o names, if it still exists
//
// So the replay of a stretch of the log over a later state ends in the log's state. A dump reads a collection while others write,
// and misses documents that were removed before it came to them: the log's updates of such a document change nothing, and its
// removal follows later in the log.
#pragma once

#include <string>

#include "bson/document.h"

namespace server {
class OperationContext;
}

namespace server::write {

struct LoggedChange {
  char op = 'i';  // i, u or d
  std::string ns;
  bson::DocumentView o;
  bson::DocumentView o2;
  bool upsert = false;  // an update whose document doesn't exist inserts it
};

// Throws for an entry that can't be tried at all, before any document is looked for: the collection doesn't exist (26), the entry
// has no _id (4), the form of update isn't known (2).
void check_replayable(OperationContext& op, const LoggedChange& change);

// Replays the entry in transactions of its own. Throws DuplicateKey, UpdateOperationFailed (218) for a document that doesn't
// exist, and the other errors of writes.
void replay(OperationContext& op, const LoggedChange& change);

}  // namespace server::write
