// Walks through a collection's records for contents that stand whole and either
// nobody wants (to be demoted, dedup/encoder.h) or nobody looked at yet: updates
// that found the queue full.
//
// A pass goes over all records in slices, each in a transaction of its own. What
// it hands on are copies: the encoder takes its time, and no snapshot is held for it.
#pragma once

#include <vector>

#include "storage/contents/record_store.h"
#include "storage/contents/record_store_state.h"

namespace storage {

// One collection's pass. Not thread-safe.
class ColdPass {
 public:
  struct Wanted {
    bool cold = false;                                    // contents that were not read lately
    Stamp written_before = 0;                             // and not written later than this
    size_t bytes_min = 0;                                 // nor shorter
    Stamp missed_from = RecordStore::State::none_missed;  // contents written since, whether they are read or not
  };
  struct Found {
    ContentName name;
    Bytes content;
    dedup::Placement placement;
    bool missed = false;
  };

  // Goes on with the next slice of the pass, or begins one.
  std::vector<Found> look(RecordStore& records, Transaction& transaction, const Wanted& wanted);
  bool at_end() const { return at_end_; }
  // Contents of this pass that were too young, or read lately: they may be cold by the next one.
  uint64_t warm() const { return warm_; }

 private:
  RecordId from_ = 0;
  bool at_end_ = true;
  uint64_t warm_ = 0;
};

}  // namespace storage
