// A page of the metadata log as bytes.
//
//   page    u32 checksum of the rest | varint slots | slots
//   slot    u8 0                                    nothing (any more)
//         | u8 1 + features x 4 + flags x 2         features < 31, see below
//           [varint collection]                     flag 1: another than the slot before
//           zigzag record, zigzag generation        distance from the slot before
//           zigzag (record - chain), varint ordinal
//           varint hop bases, each: zigzag (record - its record), zigzag (generation - its generation)
//           u32 x features
#pragma once

#include <optional>
#include <vector>

#include "dedup/metadata_log.h"

namespace dedup {

constexpr size_t metadata_page_bytes = 64 << 10;

using MetadataSlots = std::vector<std::optional<Metadata>>;

// Superseded entries are written as nothing.
Bytes write_metadata_page(const MetadataSlots& slots);
// nullopt: damaged. Never trusts a length.
std::optional<MetadataSlots> read_metadata_page(BytesView bytes);
// Length of `entry` on a page, after `before` (nullptr: the first).
size_t metadata_entry_bytes(const Metadata& entry, const Metadata* before);

}  // namespace dedup
