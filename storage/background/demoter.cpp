#include "storage/background/demoter.h"

#include <algorithm>

#include "storage/contents/chain_cut.h"
#include "storage/contents/record_store_state.h"

namespace storage {

namespace {

// After a demotion a read goes through two chains instead of one, and more chains may come to depend on the upper one. This
// function returns whether such reads stay short enough.
bool stays_short(const dedup::Backward& advice, const dedup::Options& options) {
  const ChainBounds bounds = bounds_of(options);
  const uint64_t hops = 1 + hops_at_worst(advice.target_placement.ordinal, options.hop_distance) +
                        hops_at_worst(advice.base_placement.ordinal, options.hop_distance);
  return hops <= bounds.hops_max &&
         hops * std::max<size_t>(advice.target_bytes, 1) <= bounds.read_bytes_max / (options.demotion_depth_max + 1);
}

}  // namespace

void Demoter::demote(Collection& collection, const ColdPass::Found& head) {
  Partition& part = partitions_.of(collection);
  const dedup::Options& options = part.encoder->options();
  const auto lineage = lineage_of(collection.options().dedup, bson::DocumentView(head.content));
  if (lineage != dedup::no_lineage && !options.demote_lineages) return;
  const dedup::ContentId id{collection.id(), head.name.record, head.name.generation};
  const auto advice = part.encoder->demote(id, head.content, head.placement, sources_, lineage);
  if (!advice) return;
  part.dirty = true;
  WriteBackFigures& written_back = figures_.counts().write_back;
  const uint64_t written = written_back.written;
  if (stays_short(*advice, options)) flush_write_backs(engine_, {*advice}, sources_.stores(), written_back);
  if (written_back.written == written) return part.encoder->promote(id);  // A later pass tries again.
  ++collection.records().state().demoted;
  tidy_.begin_again();
}

}  // namespace storage
