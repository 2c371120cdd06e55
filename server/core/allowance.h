// An Allowance is the time and the memory that an operation may take while it computes. Expressions and stages account for their
// work here, so that none runs on after its operation was killed, or ran out of time, and for the bytes that they keep.
//
// A unit of work is an operator, or an element that one looks at. The operation is asked every 2,000 units, so accounting costs a
// subtraction.
#pragma once

#include <cstddef>

#include "base/error.h"
#include "server/core/memory.h"

namespace server {

class OperationContext;

// Returns whether such an error ends an operation: it isn't about what the client sent.
bool stops_operation(base::ErrorCode code);

// An object serves one thread at a time.
class Allowance {
 public:
  // `current` names the operation that computes, which changes when a cursor goes on in another one; nullptr: nobody can stop
  // the work. The reference must stay valid. The memory comes from `pool`; nullptr: it has no limit. `whole`: this is a part of
  // that computation, which lives longer, and both keep their bytes in one budget.
  Allowance(OperationContext* const& current, MemoryPool* pool, Allowance* whole = nullptr)
      : current_(current), own_(pool), memory_(whole ? whole->memory_ : own_) {}
  Allowance(const Allowance&) = delete;
  Allowance& operator=(const Allowance&) = delete;

  // Throws what OperationContext::check_interrupt throws.
  void work(size_t units = 1) {
    if (units < left_) [[likely]]
      left_ -= units;
    else
      look();
  }
  // The same for work that grows with so many bytes: a copy, a comparison.
  void work_on(size_t bytes) { work(1 + bytes / bytes_per_unit); }

  MemoryBudget& memory() { return memory_; }

 private:
  static constexpr size_t units_between_looks = 2000;
  static constexpr size_t bytes_per_unit = 64;
  void look();

  OperationContext* const& current_;
  MemoryBudget own_;
  MemoryBudget& memory_;
  size_t left_ = units_between_looks;
};

}  // namespace server
