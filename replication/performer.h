// A performer makes a change and writes its entry: data, indexes and the log's row
// in one transaction.
//
// Others decide what the entry contains: the committer if the change is new, and
// the log of the set if another member made the change first (applier.h).
#pragma once

#include "replication/oplog.h"
#include "storage/collections/collection.h"

namespace replication {

// Serves one transaction; not thread-safe. Each call takes an entry that is complete but for where its content stands and, for a
// new one, its place in the transaction. What each throws is what the collection throws.
class Performer {
 public:
  Performer(Oplog& oplog, storage::Transaction& transaction) : oplog_(oplog), transaction_(transaction) {}

  // `given`: the timestamp that the entry has on other members; 0: the change is new, and takes one.
  // entry.o is the document.
  storage::Stored insert(storage::Collection& collection, Entry entry, storage::Stamp given = 0);
  // entry.o is `after`, or what makes it of `before`; then o2 says of which.
  storage::Stamp update(storage::Collection& collection, storage::RecordId record, bson::DocumentView before,
                        bson::DocumentView after, Entry entry, storage::Stamp given = 0);
  // entry.o is {_id}.
  storage::Stamp remove(storage::Collection& collection, storage::RecordId record, bson::DocumentView before, Entry entry,
                        storage::Stamp given = 0);
  // An entry alone: a command, whose change the catalog makes, or a no-op.
  storage::Stamp append(Entry entry, storage::Stamp given = 0);

 private:
  void write(Entry& entry, storage::Stamp stamp, storage::Stamp given);
  void write_document(storage::Collection& collection, Entry& entry, storage::RecordId record, storage::Stamp stamp,
                      storage::Stamp given);

  Oplog& oplog_;
  storage::Transaction& transaction_;
};

}  // namespace replication
