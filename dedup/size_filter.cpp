#include "dedup/size_filter.h"

#include <algorithm>

namespace dedup {

bool SizeFilter::admits(uint32_t bytes) {
  const bool admitted = bytes >= threshold();
  sizes_.push_back(bytes);
  if (sizes_.size() >= std::max(refresh_, 1u)) {
    const size_t rank = std::min(sizes_.size() - 1, sizes_.size() * percentile_ / 100);
    std::nth_element(sizes_.begin(), sizes_.begin() + static_cast<ptrdiff_t>(rank), sizes_.end());
    threshold_ = sizes_[rank];
    sizes_.clear();
  }
  return admitted;
}

}  // namespace dedup
