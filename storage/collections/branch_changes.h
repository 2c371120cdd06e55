// These interfaces connect changes of databases' branches with the log: the member that makes a change logs it, and the other
// members replay it.
//
//   here        branches ── append ──> BranchLog       in the change's own transaction
//   elsewhere   applier ──> BranchReplayer ──> branches ── append the same ──> BranchLog
//
// A change is a command in the form of an oplog entry. The documents that it changed come before it; a merge, for example,
// changes documents.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bson/document.h"
#include "storage/collections/replayed_change.h"
#include "storage/contents/record_store.h"

namespace storage {

// Implementations are thread-safe; transactions are not.
class BranchLog {
 public:
  virtual ~BranchLog() = default;
  // Reports a command like {commit: "dev", …}; `db` is the database's name without a ref.
  virtual void branches_changed(Transaction& transaction, std::string_view db, bson::DocumentView command) = 0;
  // Reports a changed document, before its command, and returns the change's timestamp. `before` or `after` is nullptr when there
  // was or is no document.
  virtual Stamp document_changed(Transaction& transaction, std::string_view ns, BytesView uuid, const bson::DocumentView* before,
                                 const bson::DocumentView* after) = 0;
  // Reports what the document was before the change with this timestamp, and the record that it was in. A member that replays
  // the change reports this too.
  virtual void document_replaced(Transaction& transaction, CollectionId collection, RecordId record, Stamp stamp,
                                 bson::DocumentView before) = 0;
  // Reports a content before the store drops it, since an entry may name it.
  virtual void content_lost(Transaction& transaction, CollectionId collection, RecordId record, const Superseded& content) = 0;
};

struct BranchChange {
  struct Document {
    char op = 0;  // i, u or d; ns, o and o2 are as in an oplog entry
    std::string_view ns;
    bson::DocumentView o;
    std::optional<bson::DocumentView> o2 = {};
    Stamp stamp = 0;  // the timestamp of its entry
  };
  bson::DocumentView command;
  Stamp stamp = 0;  // the timestamp of the command's entry
  std::vector<Document> documents = {};
};

class BranchReplayer {
 public:
  virtual ~BranchReplayer() = default;
  // Replays all changes, at least one, in one transaction that carries `replayed`. Throws DataCorruptionDetected when they don't
  // fit the data here.
  virtual void replay(const std::string& db, const std::vector<BranchChange>& changes, const ReplayedChange& replayed) = 0;
};

}  // namespace storage
