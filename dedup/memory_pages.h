// MemoryPages keeps pages of feature metadata in memory alone, for advice, benchmarks and tests: none of these is
// reopened.
#pragma once

#include <map>

#include "dedup/metadata_log.h"

namespace dedup {

// They aren't thread-safe.
struct MemoryPages : MetadataStore {
  std::map<uint32_t, Bytes> kept;

  std::optional<Bytes> read_page(uint32_t page) override {
    const auto found = kept.find(page);
    return found == kept.end() ? std::nullopt : std::optional(found->second);
  }
  void write_page(uint32_t page, BytesView bytes) override { kept[page] = Bytes(bytes); }
  void erase_page(uint32_t page) override { kept.erase(page); }
  std::vector<uint32_t> pages() override {
    std::vector<uint32_t> numbers;
    for (const auto& [number, bytes] : kept) numbers.push_back(number);
    return numbers;
  }

  size_t bytes() const {
    size_t bytes = 0;
    for (const auto& [number, page] : kept) bytes += page.size();
    return bytes;
  }
};

}  // namespace dedup
