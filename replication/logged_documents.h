// LoggedDocuments finds for a repair what the log has of documents whose records were lost with a damaged page.
//
// An entry of an insert or a replacement names its content, and takes the content in when a later entry supersedes it. So the log
// has what makes a document whose newest entries are updates by operators (their diffs, and the content before them), and all
// contents of capped collections. Of other documents it has nothing but names.
//
// Here a document has one record. In a database with branches it has several: versions/database/lost_versions.h.
#pragma once

#include "storage/upkeep/entry_log.h"
#include "storage/upkeep/repair.h"

namespace replication {

class LoggedDocuments final : public storage::DocumentLog {
 public:
  explicit LoggedDocuments(storage::EntryLog& log) : log_(log) {}

  std::map<storage::RecordId, storage::LoggedDocument> find(const storage::Collection& collection,
                                                            const std::vector<storage::DamagedDocument>& lost,
                                                            const std::function<void()>& interrupted) override;
  base::Result<base::Bytes> content(storage::RecordId record, const std::function<void()>& interrupted) override;

 private:
  storage::EntryLog& log_;
  // These entries make the newest content that the log knows of: the first has a content, and the others change it.
  std::map<storage::RecordId, std::vector<storage::Stamp>> entries_;
};

}  // namespace replication
