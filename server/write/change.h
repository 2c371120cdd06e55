// update, delete, findAndModify and the TTL monitor find documents and change them
// in two steps:
//
//   find     in read transactions, without locks in between: records that match
//   change   in a write transaction: read again, matched again, changed
//
// Between the steps another client may change or remove a document; so it is
// matched again, and skipped if it doesn't match any more. One statement changes a
// record once, even if the change moved the record ahead in the index that the
// statement scans.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "bson/collation.h"
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
  bson::DocumentView sort;  // with `all` false: decides which matching document
  bson::ValueView hint;
  bson::DocumentView let;
  bson::GivenCollation collation;
  bool all = false;  // false: only the first match
};

struct Match {
  storage::RecordId record = 0;
  bson::DocumentView document;
  std::optional<size_t> position;  // the position of the array element through which the filter matched
};

// An Effect is what a change did. The change may run more than once, but counts once.
struct Effect {
  bool modified = true;
  std::optional<bson::Document> before;  // kept if the caller asked for them
  std::optional<bson::Document> after;
};
using DocumentChange = std::function<Effect(storage::Transaction& transaction, DocumentWriter& writer, const Match& match)>;

struct Changed {
  int64_t matched = 0;
  int64_t modified = 0;
  std::optional<bson::Document> before;  // of the last changed document
  std::optional<bson::Document> after;
};

// Throws the errors of the filter, the hint and `change`; documents changed before that stay changed.
Changed change_matching(OperationContext& op, std::string_view ns, const Selection& selection, const DocumentChange& change);

}  // namespace server::write
