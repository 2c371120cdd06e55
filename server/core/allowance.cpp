#include "server/core/allowance.h"

#include "server/core/operation.h"

namespace server {

void Allowance::look() {
  left_ = units_between_looks;
  if (!current_) return;
  current_->check_interrupt();
  current_->share_processors();
}

}  // namespace server
