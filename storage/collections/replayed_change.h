// A ReplayedChange is a change of the schema or of branches that another member of the set logged, and that this member replays.
#pragma once

#include <string_view>

#include "bson/document.h"

namespace storage {

class Transaction;

// The transactions that replay the change carry it (Transaction::set_replayed). So the log gets the other member's entries, as
// they are, where it would get new ones for a change of this member's own. Thread-safe; transactions are not.
class ReplayedChange {
 public:
  virtual ~ReplayedChange() = default;
  // Appends the entry that has this command, and the entries of documents before it. Throws DataCorruptionDetected if the other
  // member logged no such entry: then the two members differ.
  virtual void append(Transaction& transaction, std::string_view db, base::BytesView uuid, bson::DocumentView command) const = 0;
};

}  // namespace storage
