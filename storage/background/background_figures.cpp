#include "storage/background/background_figures.h"

#include <algorithm>

namespace storage {

void add(dedup::EncoderStats& sum, const dedup::EncoderStats& one) {
  sum.contents += one.contents;
  sum.content_bytes += one.content_bytes;
  sum.encoded += one.encoded;
  sum.unique += one.unique;
  sum.filtered += one.filtered;
  sum.disabled += one.disabled;
  sum.not_worth += one.not_worth;
  sum.forward_bytes += one.forward_bytes;
  sum.saved_bytes += one.saved_bytes;
  sum.write_backs += one.write_backs;
  sum.hop_write_backs += one.hop_write_backs;
  sum.improved_write_backs += one.improved_write_backs;
  sum.candidates += one.candidates;
  sum.false_matches += one.false_matches;
  sum.source_hits += one.source_hits;
  sum.source_fetches += one.source_fetches;
  sum.sources_gone += one.sources_gone;
  sum.live_entries += one.live_entries;
  sum.demoted += one.demoted;
  sum.promoted += one.promoted;
  sum.demoted_at_once += one.demoted_at_once;
  sum.index_records += one.index_records;
  sum.index_live_bytes += one.index_live_bytes;
  sum.index_grown += one.index_grown;
  sum.index_forgotten += one.index_forgotten;
  sum.index_thinned += one.index_thinned;
  sum.index_bytes += one.index_bytes;
  sum.metadata_bytes += one.metadata_bytes;
  sum.source_cache_bytes += one.source_cache_bytes;
  // If any encoder is disabled, its governor's state is the one to report.
  if (sum.enabled) sum.governor = one.governor;
  sum.enabled &= one.enabled;
  sum.size_threshold = std::max(sum.size_threshold, one.size_threshold);
}

}  // namespace storage
