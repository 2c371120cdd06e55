// Finding documents and changing them: what update, delete, findAndModify and
// the TTL monitor have in common.
//
//   find     in read transactions, without locks in between: records that match
//   change   in a write transaction: read again, matched again, changed
//
// What was found may be changed or gone before it is our turn; then it is
// matched anew, and skipped when it doesn't match any more. A record that one
// statement has changed is not changed by it again, though the change may have
// moved it ahead in the index that is being walked.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "bson/document.h"
#include "bson/value.h"
#include "storage/engine/record_id.h"

namespace storage {
class Transaction;
}

namespace server {
class OperationContext;
}

namespace server::write {

class DocumentWriter;

struct Selection {
  bson::DocumentView filter;
  bson::DocumentView sort;  // for one document: which of those that match
  bson::ValueView hint;
  bson::DocumentView let;
  bool all = false;  // else the first that matches
};

struct Match {
  storage::RecordId record = 0;
  bson::DocumentView document;
  std::optional<size_t> position;  // of the array element the filter matched through
};

// What a change did. It may be run more than once, but counts once.
struct Effect {
  bool modified = true;
  std::optional<bson::Document> before;  // kept when somebody asked for them
  std::optional<bson::Document> after;
};
using DocumentChange = std::function<Effect(storage::Transaction& transaction, DocumentWriter& writer, const Match& match)>;

struct Changed {
  int64_t matched = 0;
  int64_t modified = 0;
  std::optional<bson::Document> before;  // of the last one
  std::optional<bson::Document> after;
};

// Throws what the filter, the hint or `change` throws; documents changed before that stay changed.
Changed change_matching(OperationContext& op, std::string_view ns, const Selection& selection, const DocumentChange& change);

}  // namespace server::write
