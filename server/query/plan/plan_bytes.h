// Bytes that planning keeps. Most queries keep few, and those take nothing from the budget, which takes a megabyte at once.
#pragma once

#include "server/core/allowance.h"

namespace server::query::plan {

// The stages of a way have its ranges, and its bounds as explain shows them.
inline constexpr size_t copies_of_a_way = 2;

// So many bytes of a plan aren't counted: each of very many idle cursors would take a megabyte for them.
inline constexpr size_t few_bytes = 64 << 10;

class PlanBytes {
 public:
  explicit PlanBytes(Allowance& allowance) : held_(allowance.memory()) {}

  // Throws what MemoryBudget::hold throws.
  void add(size_t bytes) {
    bytes_ += bytes;
    if (bytes_ > few_bytes) held_.set(bytes_);
  }
  // Returns false, and keeps what it kept, if there is no room for so many bytes more.
  bool add_if_room(size_t bytes) {
    if (bytes_ + bytes > few_bytes && !held_.add_if_room(bytes_ + bytes - held_.bytes())) return false;
    bytes_ += bytes;
    return true;
  }

 private:
  Held held_;
  size_t bytes_ = 0;
};

}  // namespace server::query::plan
