// An arena holds bytes where they were put until all are freed at once.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/bytes.h"

namespace versions::merkle {

class Arena {
 public:
  base::BytesView keep(base::BytesView bytes) {
    if (bytes.size() > left_) {
      left_ = std::max<size_t>(bytes.size(), 16 << 10);
      chunks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
      next_ = chunks_.back().get();
    }
    std::copy(bytes.begin(), bytes.end(), next_);
    const base::BytesView kept(next_, bytes.size());
    next_ += bytes.size();
    left_ -= bytes.size();
    return kept;
  }

 private:
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace versions::merkle
