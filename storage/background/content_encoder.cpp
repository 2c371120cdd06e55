#include "storage/background/content_encoder.h"

#include "storage/contents/chain_cut.h"
#include "storage/engine/transaction.h"

namespace storage {

void ContentEncoder::encode(const Collection& collection, const dedup::ContentId& id, Stamp previous, bool is_base,
                            BytesView content) {
  Partition& part = partitions_.of(collection);
  part.dirty = true;
  const auto lineage = lineage_of(collection.options().dedup, bson::DocumentView(content));
  dedup::Encoding encoding;
  const dedup::ContentId before{id.collection, id.record, previous};
  // If deltas are based on the old content, it is still stored, as a delta of the new one, which takes its place in the chain. If
  // the old content is gone, or stays only for a declared snapshot, there is nothing special to do: the new content looks for a
  // source like any other.
  const auto placement = is_base ? successor_placement(id) : std::nullopt;
  const auto kept = placement ? sources_.fetch(before) : std::nullopt;
  if (kept) {
    ++figures_.counts().successors;
    encoding = part.encoder->encode_successor(
        id, content, before, *kept, {placement->chain, placement->ordinal - (placement->ordinal > 0)}, sources_, lineage);
  } else {
    encoding = part.encoder->encode(id, content, sources_, lineage);
  }
  if (previous) part.encoder->forget(before);
  part.log.add(content, encoding);
  for (auto& backward : encoding.write_backs) {
    if (backward.target == before) continue;
    if (cuts_chain(backward, part.encoder->options().hop_distance, bounds_of(part.encoder->options()))) {
      ++figures_.counts().cut;
      continue;
    }
    write_backs_.put(std::move(backward));
  }
}

// This function returns where the chain store put a content that replaced one that deltas are based on.
std::optional<dedup::Placement> ContentEncoder::successor_placement(const dedup::ContentId& id) {
  const auto store = sources_.store(id.collection);
  if (!store) return std::nullopt;
  Transaction transaction(engine_, Transaction::Mode::read);
  return store->placement(transaction, {id.record, id.generation});
}

}  // namespace storage
