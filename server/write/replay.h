// One entry of a log, made again here: what applyOps does with changes of documents.
//
//   i  the document, also over one that is there under its _id
//   u  {$v: 2, diff}, modifiers or a replacement, of the document that o2 names; it may be gone already
//   d  the document that o names; likewise
//
// So playing a stretch of a log over a later state arrives where the log does. A dump reads a collection while others write, and
// what was deleted before it came by isn't in it: the log's updates of such a document change nothing, and its delete comes
// further on.
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
  bool upsert = false;  // an update whose document isn't there makes it
};

// What can't be tried at all: no such collection (26), no _id in the entry (4), a form of update that isn't known (2). Thrown
// before anything is looked for.
void check_replayable(OperationContext& op, const LoggedChange& change);

// In transactions of its own. Throws DuplicateKey, UpdateOperationFailed (218) for a document that isn't there, and what else
// writing it throws.
void replay(OperationContext& op, const LoggedChange& change);

}  // namespace server::write
