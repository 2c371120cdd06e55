// LoggedDocuments finds for a repair what the log has of documents whose records were lost with a damaged page.
//
// An entry of an insert or a replacement names its content, and takes the content in when a later entry supersedes it. So the log
// has what makes a document whose newest entries are updates by operators (their diffs, and the content before them), and all
// contents of capped collections. Of other documents it has nothing but names.
#pragma once

#include "replication/oplog.h"
#include "storage/upkeep/repair.h"

namespace replication {

class LoggedDocuments final : public storage::DocumentLog {
 public:
  LoggedDocuments(storage::Store& store, Oplog& oplog) : store_(store), oplog_(oplog) {}

  std::map<storage::RecordId, storage::LoggedDocument> find(const storage::Collection& collection,
                                                            const std::vector<storage::DamagedDocument>& lost,
                                                            const std::function<void()>& interrupted) override;
  std::optional<Bytes> content(const storage::LoggedDocument& logged) override;

 private:
  storage::Store& store_;
  Oplog& oplog_;
};

}  // namespace replication
