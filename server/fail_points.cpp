#include "server/fail_points.h"

#include "base/error.h"
#include "base/random.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr std::string_view known[] = {"failCommand", "onPrimaryTransactionalWrite"};

// Concerns it this command? A list is named failCommands.
bool concerns(bson::DocumentView data, std::string_view command, std::string_view application) {
  if (const auto wanted = data.find("appName"); wanted.is_string() && wanted.as_string() != application) return false;
  const auto list = data.find("failCommands");
  if (!list.is_array()) return !data.has("failCommands");
  for (const auto& name : list.as_document()) {
    if (name.is_string() && name.as_string() == command) return true;
  }
  return false;
}

}  // namespace

int64_t FailPoints::configure(const std::string& name, const bson::ValueView& mode, bson::DocumentView data) {
  bool is_known = false;
  for (std::string_view one : known) is_known = is_known || one == name;
  if (!is_known) throw OperationError(ErrorCode::fail_point_set_failed, "The fail point '" + name + "' was not found");
  Point point;
  if (mode.is_string() && mode.as_string() == "off") {
    point.mode = Point::Mode::off;
  } else if (mode.is_string() && mode.as_string() == "alwaysOn") {
    point.mode = Point::Mode::on;
  } else if (mode.is_object() && mode.as_document()["times"].is_number()) {
    point.mode = Point::Mode::times;
    point.count = mode.as_document()["times"].to_int64();
  } else if (mode.is_object() && mode.as_document()["skip"].is_number()) {
    point.mode = Point::Mode::skip;
    point.count = mode.as_document()["skip"].to_int64();
  } else if (mode.is_object() && mode.as_document()["activationProbability"].is_number()) {
    point.mode = Point::Mode::probability;
    point.probability = mode.as_document()["activationProbability"].to_double();
  } else {
    throw OperationError(ErrorCode::bad_value, "'mode' must be one of 'off', 'alwaysOn', {times: n}, {skip: n}, {activationProbability: p}");
  }
  if (point.count < 0) throw OperationError(ErrorCode::bad_value, "'times' and 'skip' options to 'mode' must be positive");
  point.data = bson::Document(data);
  std::lock_guard lock(mutex_);
  point.entered = points_[name].entered;
  const int64_t entered = point.entered;
  points_[name] = std::move(point);
  int active = 0;
  for (const auto& [each, one] : points_) active += one.mode != Point::Mode::off;
  active_ = active;
  return entered;
}

std::optional<bson::Document> FailPoints::strike(const std::string& name, std::string_view command, std::string_view application) {
  if (active_.load(std::memory_order_relaxed) == 0) return std::nullopt;
  std::lock_guard lock(mutex_);
  const auto found = points_.find(name);
  if (found == points_.end()) return std::nullopt;
  Point& point = found->second;
  if (point.mode == Point::Mode::off || !concerns(point.data, command, application)) return std::nullopt;
  if (point.mode == Point::Mode::skip && point.count-- > 0) return std::nullopt;
  if (point.mode == Point::Mode::times && point.count-- <= 0) {
    point.mode = Point::Mode::off;
    return std::nullopt;
  }
  if (point.mode == Point::Mode::probability && base::Random(base::entropy64()).unit() >= point.probability) return std::nullopt;
  ++point.entered;
  return point.data;
}

int64_t FailPoints::entered(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto found = points_.find(name);
  return found == points_.end() ? 0 : found->second.entered;
}

}  // namespace server
