#include "versions/past/page_table.h"

#include <algorithm>

namespace versions::past {

PageTable::PageTable() : slots_(128), mask_(slots_.size() - 1) {}

size_t PageTable::take(std::span<const Mapping> mappings) {
  const size_t before = size_;
  for (const Mapping& mapping : mappings) {
    Mapping* slot = &slots_[place_of(mapping.row)];
    if (slot->content != 0) continue;
    if (size_ * 2 >= slots_.size()) {
      grow();
      slot = &slots_[place_of(mapping.row)];
    }
    *slot = mapping;
    ++size_;
  }
  return size_ - before;
}

void PageTable::grow() {
  std::vector<Mapping> old(slots_.size() * 2);
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  for (const Mapping& mapping : old) {
    if (mapping.content != 0) slots_[place_of(mapping.row)] = mapping;
  }
}

std::vector<Mapping> PageTable::in_order() const {
  std::vector<Mapping> all;
  all.reserve(size_);
  for (const Mapping& mapping : slots_) {
    if (mapping.content != 0) all.push_back(mapping);
  }
  std::sort(all.begin(), all.end(), [](const Mapping& a, const Mapping& b) { return a.row < b.row; });
  return all;
}

}  // namespace versions::past
