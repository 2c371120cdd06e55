#include "server/write/arrivals.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/clock.h"
#include "bson/builder.h"
#include "bson/value.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/write/statements.h"
#include "storage/store.h"

namespace server::write {

namespace {

constexpr std::string_view arrivals_ns = "admin.system.arrivals";
// Something may come many times in a second, and each renewal is an entry of the log.
constexpr int64_t renewed_after_ms = 60'000;

// Returns how long nothing of the arrival has come; nullopt: there is none. Another primary's clock may have been ahead of this
// one.
std::optional<int64_t> idle_ms(const Services& services, const std::string& db) {
  const auto arrival = storage::find_document(*services.store, arrivals_ns, bson::Value(db));
  if (!arrival) return std::nullopt;
  const bson::Element at = arrival->view().find("at");
  if (at.type() != bson::Type::date) return arrival_idle_ms_max;
  const double between = static_cast<double>(services.clock.wall_ms()) - static_cast<double>(at.as_date().ms);
  return static_cast<int64_t>(std::min(std::abs(between), static_cast<double>(arrival_idle_ms_max)));
}

}  // namespace

void begin_arrival(OperationContext& op, const std::string& db) {
  bson::Builder out;
  out.append("_id", db).append("at", bson::Date{op.services().clock.wall_ms()});
  put_document(op, arrivals_ns, db, out.done());
}

bool renew_arrival(OperationContext& op, const std::string& db) {
  const auto idle = idle_ms(op.services(), db);
  if (idle && *idle >= renewed_after_ms) begin_arrival(op, db);
  return idle.has_value();
}

bool is_arrival(const Services& services, const std::string& db) {
  return idle_ms(services, db).has_value();
}

bool is_arriving(const Services& services, const std::string& db) {
  const auto idle = idle_ms(services, db);
  return idle && *idle < arrival_idle_ms_max;
}

void end_arrival(OperationContext& op, const std::string& db) {
  if (is_arrival(op.services(), db)) remove_document(op, arrivals_ns, db);
}

}  // namespace server::write
