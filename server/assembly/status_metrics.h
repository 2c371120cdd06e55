// These are the larger sections of serverStatus: locks, transactions and metrics.
#pragma once

#include <cstdint>

#include "bson/builder.h"
#include "server/core/metrics.h"

namespace server {

struct Services;

// Each function appends its section's fields. Thread-safe.

// `begun_us` is when the server started, by the monotonic clock.
void append_global_lock(const Services& services, int64_t begun_us, bson::Builder& out);
// Shows how many operations read and write now; mongod has tickets for them, here threads alone limit them.
void append_concurrent(const Services& services, bson::Builder& out);
void append_locks(const Metrics::Locks& locks, bson::Builder& out);
void append_transactions(const Services& services, bson::Builder& out);
void append_metrics(const Services& services, bson::Builder& out);

}  // namespace server
