// One chain laid open for whoever wants to see what dedup made of a document:
// every content in it, in which form it is kept, on what it stands and how many
// steps a read of it takes.
//
//   position 3   [ head           ]  whole in its record's row, hops 0
//   position 2   [ delta -> 3     ]  hops 1
//   position 1   [ delta -> 2     ]  hops 2, retained: a deleted document's, kept for position 0
//   position 0   [ delta -> 3     ]  hops 1, a hop base: its base is not its neighbour
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "storage/collections/collection.h"
#include "storage/format/record_format.h"

namespace storage {

struct ChainNode {
  enum class Form : uint8_t {
    head,   // whole, in its record's row
    delta,  // in the chain table
    whole,  // in the chain table: a retained content without a base
  };

  ChainKey key;
  Form form = Form::head;
  bool demoted = false;   // the newest of its chain, but a delta of another chain's: nobody read it for a while
  bool retained = false;  // no record's current content: kept for those based on it alone
  uint64_t content_bytes = 0;
  uint64_t stored_bytes = 0;                    // of its row, before block compression
  uint64_t references = 0;                      // deltas based on it
  std::optional<ChainKey> base;                 // of a delta
  dedup::Choice choice = dedup::Choice::given;  // of that base
  uint32_t hops = 0;                            // deltas that a read of it applies
  uint32_t position = 0;                        // in its chain, by rank, from the oldest that is left: 0
  std::optional<uint32_t> ordinal;              // as the encoder counts; kept for heads alone
  bool hop_base = false;                        // re-encoded against a content further up than its neighbour
};

struct ChainView {
  RecordId chain = 0;
  std::vector<ChainNode> nodes;  // highest rank first
  size_t asked = 0;              // place of the record's own content among them

  uint64_t content_bytes = 0, stored_bytes = 0;
  uint32_t hops_max = 0;
  double hops_mean = 0;
  uint64_t heads = 0, retained = 0, hop_bases = 0;
};

// The chain that the record's content belongs to; for one that no delta is based on and that is none itself, a chain
// of one. nullopt: no such record. Memory grows with the chain, about 150 bytes a content. `interrupted` is asked now
// and then and may throw. Throws DataCorruptionDetected where a row can't be read.
std::optional<ChainView> view_chain(Collection& collection, Transaction& transaction, RecordId record,
                                    const std::function<void()>& interrupted = nullptr);

// The node's content, decoded and verified. Throws DataCorruptionDetected.
Bytes read_node(Collection& collection, Transaction& transaction, const ChainNode& node);

}  // namespace storage
