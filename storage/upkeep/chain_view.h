// A chain view shows what dedup made of a document. It lists every content of the document's chain, the form in which the content
// is kept, the base that it needs and the hops of a read.
//
//   position 3   [ head           ]  whole in its record's row, hops 0
//   position 2   [ delta -> 3     ]  hops 1
//   position 1   [ delta -> 2     ]  hops 2, retained: its document was deleted, but position 0 needed it
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
    head,   // The content is stored whole in its record's row.
    delta,  // The content is a delta in the chain table.
    whole,  // The content is a retained one without a base; it is stored whole in the chain table.
  };

  ChainKey key;
  Form form = Form::head;
  // The newest content of the chain is a delta of another chain's content, because nobody read it for a while.
  bool demoted = false;
  bool retained = false;  // The content is no record's current one, and is kept only because deltas are based on it.
  uint64_t content_bytes = 0;
  uint64_t stored_bytes = 0;                    // This is the size of its row before block compression.
  uint64_t references = 0;                      // This counts the deltas based on it.
  std::optional<ChainKey> base;                 // A delta has a base.
  dedup::Choice choice = dedup::Choice::given;  // The encoder chose the base in this way.
  uint32_t hops = 0;                            // A read of it applies this many deltas.
  uint32_t position = 0;                        // This is its place in the chain by rank; the oldest content that is left has 0.
  std::optional<uint32_t> ordinal;              // This is the encoder's count; it is stored for heads only.
  bool hop_base = false;                        // It is encoded against a content further up than its neighbour.
};

struct ChainView {
  RecordId chain = 0;
  std::vector<ChainNode> nodes;  // The content with the highest rank comes first.
  size_t asked = 0;              // `nodes[asked]` is the record's own content.

  uint64_t content_bytes = 0, stored_bytes = 0;
  uint32_t hops_max = 0;
  double hops_mean = 0;
  uint64_t heads = 0, retained = 0, hop_bases = 0;
};

// This function returns the chain that the record's content belongs to. A content that isn't a delta and that no delta is based
// on makes a chain of one. nullopt means that there is no such record. The memory grows with the chain, about 150 bytes for each
// content. The function calls `interrupted` now and then, which may throw. It throws DataCorruptionDetected when a row can't be
// read.
std::optional<ChainView> view_chain(Collection& collection, Transaction& transaction, RecordId record,
                                    const std::function<void()>& interrupted = nullptr);

// This function returns the node's content, decoded and verified. It throws DataCorruptionDetected.
Bytes read_node(Collection& collection, Transaction& transaction, const ChainNode& node);

}  // namespace storage
