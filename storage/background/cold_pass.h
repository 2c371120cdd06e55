// A cold pass walks through a collection's records and looks for two kinds of contents that are stored whole: cold ones, which
// nobody reads and which are to be demoted (dedup/encoder.h), and missed ones, which were never encoded because an update found
// the queue full.
//
// A pass goes over all records in slices, and each slice has its own transaction. The pass returns copies of the contents,
// because encoding takes time and no snapshot should stay open for it.
#pragma once

#include <vector>

#include "storage/contents/record_store.h"
#include "storage/contents/record_store_state.h"

namespace storage {

// An object is the pass over one collection. It is not thread-safe.
class ColdPass {
 public:
  struct Wanted {
    bool cold = false;         // The pass looks for contents that weren't read lately.
    Stamp written_before = 0;  // Cold contents weren't written later than this timestamp.
    size_t bytes_min = 0;      // Cold contents have at least this many bytes.
    // The pass also looks for contents that were written since this timestamp, whether or not they are read.
    Stamp missed_from = RecordStore::State::none_missed;
  };
  struct Found {
    ContentName name;
    Bytes content;
    dedup::Placement placement;
    bool missed = false;
  };

  // This function goes on with the next slice of the pass, or begins a pass.
  std::vector<Found> look(RecordStore& records, Transaction& transaction, const Wanted& wanted);
  bool at_end() const { return at_end_; }
  // This is the number of contents that were too young in this pass, or were read lately; they may be cold in the next pass.
  uint64_t warm() const { return warm_; }

 private:
  RecordId from_ = 0;
  bool at_end_ = true;
  uint64_t warm_ = 0;
};

}  // namespace storage
