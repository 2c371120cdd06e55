// A replay counts here while it runs. Any thread may add, and any may read.
#pragma once

#include "base/counters.h"

namespace datasets::replay {

struct Measured {
  base::Counter documents;  // inserts acknowledged
  base::Counter replaced;
  base::Counter removed;
  base::Counter failed;          // refused one by one (duplicate keys)
  base::Counter logical_bytes;   // of the documents inserted or put in place of others
  base::Counter text_bytes;      // of their body texts alone
  base::Counter reads;           // by the trace
  base::Counter documents_read;  // documents that the reads returned
  base::Counter reads_wrong;     // came back as something else than was written
  base::Histogram insert_us;     // one insert command, however many documents it carries
  base::Histogram read_us;
};

}  // namespace datasets::replay
