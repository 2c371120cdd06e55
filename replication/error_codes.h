// MongoDB's error codes that only replica sets know. Their names stand with the others' (base/error.cpp).
#pragma once

#include "base/error.h"

namespace replication::error {

using base::ErrorCode;

inline constexpr auto invalid_replica_set_config = ErrorCode{93};
inline constexpr auto not_yet_initialized = ErrorCode{94};
inline constexpr auto not_secondary = ErrorCode{95};
inline constexpr auto unsatisfiable_write_concern = ErrorCode{100};
inline constexpr auto new_config_incompatible = ErrorCode{103};
inline constexpr auto node_not_electable = ErrorCode{104};
inline constexpr auto not_a_replica_set = ErrorCode{123};
inline constexpr auto primary_stepped_down = ErrorCode{189};
inline constexpr auto cluster_time_fails_rate_limiter = ErrorCode{205};
inline constexpr auto incomplete_transaction_history = ErrorCode{217};
inline constexpr auto snapshot_too_old = ErrorCode{239};
inline constexpr auto exceeded_time_limit = ErrorCode{262};
inline constexpr auto interrupted_due_to_state_change = ErrorCode{11602};
inline constexpr auto not_primary_no_secondary_ok = ErrorCode{13435};
inline constexpr auto not_primary_or_secondary = ErrorCode{13436};

}  // namespace replication::error
