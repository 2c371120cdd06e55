// A pre-image is a document as it was before a change, for change streams of collections with changeStreamPreAndPostImages. It is
// kept as a delta of what the document was after the change.
//
//   pre-images    timestamp                       -> collection, record                 (varints)
//                 collection, record, timestamp   -> | form, 1 | checksum, 4 | body |
//                                                    form 1, whole  body = the content
//                                                    form 2, delta  body = what makes it of the content after the change
//
//   collection, record, 7   delta --of-- the content after 7, which is the pre-image of 9
//   collection, record, 9   delta --of-- the content after 9, which the record has
//
// About one in 32 is whole, so that a document that changes often costs few steps. The timestamp decides which, so all members
// keep the same.
#pragma once

#include <optional>

#include "storage/collections/collection.h"
#include "storage/engine/table.h"

namespace storage {
class Store;
}

namespace replication {

using base::Bytes;
using base::BytesView;

// This class is thread-safe.
class PreImages {
 public:
  explicit PreImages(storage::Store& store);

  // Keeps `before`, which the change with this timestamp replaced by `after`; nullptr: it removed the document. `moved`: what
  // came after is another record's.
  void keep(storage::Transaction& transaction, storage::CollectionId collection, storage::RecordId record, storage::Stamp stamp,
            bson::DocumentView before, const bson::DocumentView* after, bool moved);

  // Returns the document before the change with this timestamp; nullopt: it isn't kept, or no longer. Throws
  // DataCorruptionDetected.
  std::optional<Bytes> find(storage::Stamp stamp);

  // The collection was dropped: makes the last image of each of its records whole, if it is a delta of what the record has. Does
  // a part, for records from `from` on, and returns the record to go on with; 0: all is done.
  storage::RecordId make_last_whole(const storage::Collection& collection, storage::RecordId from);

  // Removes those of changes before `below`; returns how many. Call it now and then.
  int64_t expire(storage::Stamp below);

 private:
  storage::Store& store_;
  const storage::Table table_;
};

}  // namespace replication
