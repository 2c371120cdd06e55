// An Allowance is the time that an operation may take while it computes. Expressions account for their work here, so that none
// runs on after its operation was killed, or ran out of time.
//
// The work is counted in units of some 100 ns. The operation is asked every thousand or so: accounting costs a subtraction.
#pragma once

#include <cstddef>

namespace server {

class OperationContext;

// An object serves one thread at a time.
class Allowance {
 public:
  // `current` names the operation that computes, which changes when a cursor goes on in another one; nullptr: nobody can stop
  // the work. The reference must stay valid.
  explicit Allowance(OperationContext* const& current) : current_(current) {}
  Allowance(const Allowance&) = delete;
  Allowance& operator=(const Allowance&) = delete;

  // Throws what OperationContext::check_interrupt throws.
  void work(size_t units = 1) {
    if (units < left_) [[likely]]
      left_ -= units;
    else
      look();
  }

 private:
  static constexpr size_t units_between_looks = 2000;
  void look();

  OperationContext* const& current_;
  size_t left_ = units_between_looks;
};

}  // namespace server
