// This is a page of the metadata log as bytes.
//
//   page    u32 checksum of the rest | varint slots | slots
//   slot    u8 0, varint count                      so many slots with nothing (any more)
//         | u8 1 + flags                            features in the upper half; 15: varint after it
//           [varint collection]                     flag 2: another than the slot before
//           zigzag record                           distance from the slot before
//           zigzag seconds, zigzag count            distances of the halves of the generation
//           [zigzag (record - chain), varint ordinal, varint depth,
//            varint delta bytes, varint hop bases, each: the distances of record, seconds, count]
//                                                   flag 8: not the first of its own chain
//           u32 x features                          flag 4: the first is that of the lineage
//
// A content without similar ones so far costs 5 bytes and its features.
#pragma once

#include <optional>
#include <vector>

#include "dedup/metadata_log.h"

namespace dedup {

constexpr size_t metadata_page_bytes = 64 << 10;
constexpr uint32_t metadata_slots_max = 4096;

using MetadataSlots = std::vector<std::optional<Metadata>>;

// The writer isn't thread-safe.
class MetadataPageWriter {
 public:
  explicit MetadataPageWriter(size_t slots);
  void skip() { ++skipped_; }
  void add(const ContentId& id, const Placement& placement, bool has_lineage, uint8_t demoted_below, uint32_t delta_bytes,
           std::span<const uint32_t> features, std::span<const ContentId> hop_bases);
  Bytes finish();

 private:
  void write_skipped();

  Bytes out_;
  ContentId before_;
  uint64_t skipped_ = 0;
};

Bytes write_metadata_page(const MetadataSlots& slots);
// Returns nullopt when the page is damaged. It never trusts a length.
std::optional<MetadataSlots> read_metadata_page(BytesView bytes);
// Returns the checksum that a page begins with, over the rest of it.
uint32_t metadata_page_checksum(BytesView page);
// Returns about the length of such an entry.
size_t metadata_entry_bytes(size_t features, size_t hop_bases);

}  // namespace dedup
