// Adds families about the members of a replica set, as this member sees them: a reply of replSetGetStatus.
//
//   palimpsest_repl_state                              this member's state (1 primary, 2 secondary, …)
//   palimpsest_repl_member_state{member}, _health, _ping_ms, _optime_timestamp_seconds
//   palimpsest_repl_member_lag_seconds{member}         how far its newest entry is behind the primary's; without a primary:
//   nothing
#pragma once

#include "server/exporter/status_families.h"

namespace server::exporter {

void add_members(bson::DocumentView status, Families& families);

}  // namespace server::exporter
