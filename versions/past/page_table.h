// A snapshot page table: for each row that was written since a snapshot, what it was then (Retro §4.5, Skippy §3).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "versions/past/mapping.h"

namespace versions::past {

// Not thread-safe while mappings are taken; then const calls are.
class PageTable {
 public:
  PageTable();

  // Mappings in the order of the log: of each row the first counts. How many were new.
  size_t take(std::span<const Mapping> mappings);
  // nullopt: no mapping, so the row is as it was, if it was there.
  std::optional<Stamp> find(RecordId row) const {
    const Mapping& slot = slots_[place_of(row)];
    return slot.content == 0 ? std::nullopt : std::optional(slot.content);
  }
  std::vector<Mapping> in_order() const;  // of rows

  size_t size() const { return size_; }
  size_t memory_bytes() const { return sizeof *this + slots_.capacity() * sizeof(Mapping); }

 private:
  // Rows that follow each other lie side by side, in groups of 64; groups lie anywhere.
  size_t home(RecordId row) const {
    const auto number = static_cast<uint64_t>(row);
    return (((number >> 6) * 0x9e3779b97f4a7c15ull >> 32) << 6 | (number & 63)) & mask_;
  }
  // Where the row is, or would be.
  size_t place_of(RecordId row) const {
    size_t place = home(row);
    while (slots_[place].content != 0 && slots_[place].row != row) place = (place + 1) & mask_;
    return place;
  }
  void grow();

  std::vector<Mapping> slots_;  // a power of two, half of it free; content 0: free
  size_t mask_;
  size_t size_ = 0;
};

}  // namespace versions::past
