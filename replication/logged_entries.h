// LoggedEntries is the oplog as a repair reads it. It steps over pages that can't be read, and says where they are.
#pragma once

#include "replication/oplog.h"
#include "storage/upkeep/entry_log.h"

namespace replication {

class LoggedEntries final : public storage::EntryLog {
 public:
  LoggedEntries(storage::Store& store, Oplog& oplog) : store_(store), oplog_(oplog) {}

  void walk(const Meet& meet, const MeetHole& meet_hole, const std::function<void()>& interrupted) override;
  std::optional<bson::Document> after(storage::Stamp stamp, const std::optional<bson::Document>& before) override;
  // Returns the content with this generation, if the entry of the write that made it still has it: contents that were replaced or
  // deleted but that others are based on, and those of capped collections. nullopt: it only names the content, or says what the
  // write changed, or is of another collection.
  std::optional<Bytes> copy(BytesView uuid, storage::Stamp generation);

 private:
  std::optional<Bytes> readable_row(storage::Stamp stamp);

  storage::Store& store_;
  Oplog& oplog_;
};

}  // namespace replication
