// Changes of databases' branches, and the log: the member that makes a change logs it, and the other members replay it.
//
//   here        branches ── append ──> BranchLog       in the change's own transaction
//   elsewhere   applier ──> BranchReplayer ──> branches ── append the same ──> BranchLog
//
// A change is a command, as an oplog entry has it, behind the documents that it changed, as a merge does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bson/document.h"
#include "storage/collections/replayed_change.h"
#include "storage/contents/record_store.h"

namespace storage {

// Thread-safe; transactions are not.
class BranchLog {
 public:
  virtual ~BranchLog() = default;
  // {commit: "dev", …}; of the database without a ref.
  virtual void branches_changed(Transaction& transaction, std::string_view db, bson::DocumentView command) = 0;
  // Before the command. `before`, `after`: nullptr where there is none.
  // Returns how many bytes that takes.
  virtual uint64_t document_changed(Transaction& transaction, std::string_view ns, BytesView uuid,
                                    const bson::DocumentView* before, const bson::DocumentView* after) = 0;
  // So many, of all documents of one transaction.
  virtual uint64_t documents_bytes_max() const = 0;
  // A content that is stored no longer, before it goes: an entry may name it.
  virtual void content_lost(Transaction& transaction, CollectionId collection, RecordId record, const Superseded& content) = 0;
};

struct BranchChange {
  struct Document {
    char op = 0;  // i, u or d; ns, o and o2 as an oplog entry has them
    std::string_view ns;
    bson::DocumentView o;
    std::optional<bson::DocumentView> o2 = {};
  };
  bson::DocumentView command;
  Stamp stamp = 0;  // of the command's entry
  std::vector<Document> documents = {};
};

class BranchReplayer {
 public:
  virtual ~BranchReplayer() = default;
  // Replays all of them, at least one, in one transaction that carries `replayed`. Throws DataCorruptionDetected if they don't
  // fit what is here.
  virtual void replay(const std::string& db, const std::vector<BranchChange>& changes, const ReplayedChange& replayed) = 0;
};

}  // namespace storage
