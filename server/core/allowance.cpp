#include "server/core/allowance.h"

#include "server/core/operation.h"

namespace server {

namespace {

constexpr auto cursor_killed = static_cast<base::ErrorCode>(237);
constexpr auto client_disconnect = static_cast<base::ErrorCode>(279);

}  // namespace

bool stops_operation(base::ErrorCode code) {
  using enum base::ErrorCode;
  return code == interrupted || code == max_time_ms_expired || code == exceeded_memory_limit || code == interrupted_at_shutdown ||
         code == interrupted_due_to_state_change || code == cursor_killed || code == client_disconnect;
}

void Allowance::look() {
  left_ = units_between_looks;
  if (!current_) return;
  current_->check_interrupt();
  current_->share_processors();
}

}  // namespace server
