#include "server/exporter/member_families.h"

#include <algorithm>
#include <optional>

namespace server::exporter {
namespace {

using prometheus::MetricType;

constexpr double primary = 1, secondary = 2;

std::optional<double> number(const bson::ValueView& value) {
  return value.is_number() ? std::optional(value.to_double()) : std::nullopt;
}

std::optional<double> newest(bson::DocumentView member) {
  const auto optime = member["optime"];
  if (!optime.is_object()) return std::nullopt;
  const auto ts = optime.as_document()["ts"];
  if (ts.type() != bson::Type::timestamp || ts.as_timestamp().seconds == 0) return std::nullopt;
  return static_cast<double>(ts.as_timestamp().seconds);
}

}  // namespace

void add_members(bson::DocumentView status, Families& families) {
  if (const auto state = number(status["myState"]))
    families.add("palimpsest_repl_state", MetricType::Gauge, "replSetGetStatus: myState", {}, *state);
  const auto members = status["members"];
  if (members.type() != bson::Type::array) return;
  std::optional<double> primarys;
  for (const auto& field : members.as_document()) {
    if (field.is_object() && number(field.as_document()["state"]) == primary) primarys = newest(field.as_document());
  }
  for (const auto& field : members.as_document()) {
    if (!field.is_object()) continue;
    const bson::DocumentView member = field.as_document();
    const auto name = member["name"];
    if (name.type() != bson::Type::string) continue;
    const Families::Labels labels = {{"member", std::string(name.as_string())}};
    const auto add = [&](const std::string& what, std::string_view from, std::optional<double> value) {
      if (!value) return;
      families.add("palimpsest_repl_member_" + what, MetricType::Gauge, "replSetGetStatus: members." + std::string(from), labels,
                   *value);
    };
    const auto state = number(member["state"]), entry = newest(member);
    add("state", "state", state);
    add("health", "health", number(member["health"]));
    add("ping_ms", "pingMs", number(member["pingMs"]));
    add("optime_timestamp_seconds", "optime.ts", entry);
    if (primarys && entry && (state == primary || state == secondary))
      add("lag_seconds", "optime.ts, beside the primary's", std::max(0.0, *primarys - *entry));
  }
}

}  // namespace server::exporter
