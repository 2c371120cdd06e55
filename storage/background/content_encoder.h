// The content encoder encodes one committed content: it calls the encoder of the collection's partition, and puts the backward
// deltas into the write-back cache.
#pragma once

#include "dedup/writeback_cache.h"
#include "storage/background/partitions.h"
#include "storage/background/published_figures.h"
#include "storage/background/sources.h"

namespace storage {

// Only the scheduler's thread uses an object.
class ContentEncoder {
 public:
  ContentEncoder(Engine& engine, Partitions& partitions, Sources& sources, dedup::WritebackCache& write_backs,
                 PublishedFigures& figures)
      : engine_(engine), partitions_(partitions), sources_(sources), write_backs_(write_backs), figures_(figures) {}

  // `previous` is the generation of the content that the new one replaced; 0 means that there was none, or that it isn't known.
  // `is_base` means that the previous content may still be stored, because deltas are based on it.
  void encode(const Collection& collection, const dedup::ContentId& id, Stamp previous, bool is_base, BytesView content);

 private:
  std::optional<dedup::Placement> successor_placement(const dedup::ContentId& id);

  Engine& engine_;
  Partitions& partitions_;
  Sources& sources_;
  dedup::WritebackCache& write_backs_;
  PublishedFigures& figures_;
};

}  // namespace storage
