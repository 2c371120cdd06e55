#include "server/core/allowance.h"

#include "server/core/operation.h"

namespace server {

void Allowance::look() {
  left_ = units_between_looks;
  if (current_) current_->check_interrupt();
}

}  // namespace server
