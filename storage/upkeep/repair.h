// What `validate {repair: true}` does to a collection.
//
//   contents   a content that does not read as its checksum says is put back from a
//              copy, and those based on it read again; where there is no copy the
//              record goes to local.lost_and_found.<uuid>, with what is left of it
//   chains     counts of references are made what a scan counts; what nothing leads
//              to, or nothing needs, goes
//   indexes    missing entries are made, others are removed
//   counts     are what there is
//
// The schema lock is held exclusively throughout, and dedup's background stands
// still. Each step is a transaction of its own: what a crash leaves is what the next
// repair finds.
#pragma once

#include <functional>

#include "storage/collections/collection.h"

namespace storage {

class Engine;
class Store;

// Plug: where else a content may be found whole, by name. What it gives is believed only
// where the checksum holds.
using ContentCopies = std::function<std::optional<Bytes>(const Collection& collection, RecordId record, Stamp generation)>;

// Plug: entries of `_id` in a database with branches, which are of versions. Who has these knows where an entry lies, and what a
// branch and a commit say of its record.
class VersionEntries {
 public:
  virtual ~VersionEntries() = default;
  // It leads to no document of that key. `gone`: to no record at all, which nobody may expect any more.
  virtual void remove(Transaction& transaction, BytesView key, RecordId record, bool gone) = 0;
  // False: another document of before the first branch has the key.
  virtual bool insert(Transaction& transaction, BytesView key, RecordId record) = 0;
};

struct RepairReport {
  ValidateReport after;           // what validate finds when all is done
  int64_t restored_contents = 0;  // from copies
  int64_t removed_records = 0;    // corrupt, and now in lost_and_found
  int64_t moved_documents = 0;    // whole, but at odds with another one in a unique index: in lost_and_found too
  int64_t inserted_keys = 0;
  int64_t removed_keys = 0;
  int64_t corrected_types = 0;   // of index entries that were there
  int64_t corrected_chains = 0;  // rows
  std::vector<std::string> warnings;

  bool repaired() const {
    return restored_contents + removed_records + moved_documents + inserted_keys + removed_keys + corrected_types +
               corrected_chains >
           0;
  }
};

// Throws NamespaceNotFound where it was dropped, CommandNotSupported for a collection that is kept elsewhere (the log).
// `versions`: nullptr where the database has no branches.
RepairReport repair_collection(Store& store, const std::shared_ptr<Collection>& collection, bool full,
                               const ContentCopies& copies, VersionEntries* versions,
                               const std::function<void()>& interrupted = nullptr);

// Records whose contents don't read, at most so many: to be named where validate found that there are some.
std::vector<RecordId> corrupt_records(Engine& engine, Collection& collection, size_t count_max,
                                      const std::function<void()>& interrupted = nullptr);

}  // namespace storage
