#include "server/core/fail_points.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "base/random.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr std::string_view known[] = {
    "failCommand",         "failGetMoreAfterCursorCheckout", "maxTimeAlwaysTimeOut",
    "maxTimeNeverTimeOut", "onPrimaryTransactionalWrite",    "outWaitAfterTempCollectionCreation"};

// The count of {times: n} and {skip: n}.
int64_t count_of(const bson::Element& value) {
  const std::string name(value.name);
  if (!value.is_number()) {
    throw OperationError(ErrorCode::type_mismatch, "\"" + name + "\" had the wrong type. Expected a number, found " +
                                                       std::string(bson::type_name(value.type())));
  }
  if (value.to_double() != std::trunc(value.to_double())) {
    throw OperationError(ErrorCode::bad_value,
                         "Expected field \"" + name + "\" to have a value exactly representable as a 64-bit integer");
  }
  if (value.to_double() < 0) throw OperationError(ErrorCode::bad_value, "'" + name + "' option to 'mode' must be positive");
  if (value.to_double() > INT_MAX) throw OperationError(ErrorCode::bad_value, "'" + name + "' option to 'mode' is too large");
  return value.to_int64();
}

double probability_of(const bson::Element& value) {
  if (!value.is_number()) {
    throw OperationError(ErrorCode::type_mismatch,
                         "the 'activationProbability' option to 'mode' must be a double between 0 and 1");
  }
  if (!(value.to_double() >= 0 && value.to_double() <= 1)) {
    throw OperationError(ErrorCode::bad_value,
                         "activationProbability must be between 0.0 and 1.0; found " + std::to_string(value.to_double()));
  }
  return value.to_double();
}

}  // namespace

FailPoints::Point FailPoints::parse(const bson::ValueView& mode) {
  Point point;
  if (!mode.exists()) throw OperationError(ErrorCode::illegal_operation, "When setting a failpoint, you must supply a 'mode'");
  if (mode.is_string()) {
    if (mode.as_string() == "alwaysOn")
      point.mode = Point::Mode::on;
    else if (mode.as_string() != "off")
      throw OperationError(ErrorCode::bad_value, "unknown mode: " + std::string(mode.as_string()));
    return point;
  }
  if (!mode.is_object()) throw OperationError(ErrorCode::type_mismatch, "'mode' must be a string or JSON object");
  const bson::DocumentView options = mode.as_document();
  if (const auto times = options.find("times"); times.exists()) {
    point.count = count_of(times);
    point.mode = Point::Mode::times;
  } else if (const auto skip = options.find("skip"); skip.exists()) {
    point.count = count_of(skip);
    point.mode = Point::Mode::skip;
  } else if (const auto probability = options.find("activationProbability"); probability.exists()) {
    point.probability = probability_of(probability);
    point.mode = Point::Mode::probability;
  } else {
    throw OperationError(ErrorCode::bad_value, "'mode' must be one of 'off', 'alwaysOn', 'times', and 'activationProbability'");
  }
  return point;
}

int64_t FailPoints::configure(const std::string& name, const bson::ValueView& mode, bson::DocumentView data) {
  if (std::find(std::begin(known), std::end(known), name) == std::end(known)) {
    throw OperationError(ErrorCode::fail_point_set_failed, name + " not found");
  }
  Point point = parse(mode);
  point.data = bson::Document(data);
  const base::MutexLock lock(mutex_);
  point.entered = points_[name].entered;
  const int64_t entered = point.entered;
  points_[name] = std::move(point);
  int active = 0;
  for (const auto& [each, one] : points_) active += one.mode != Point::Mode::off;
  active_ = active;
  return entered;
}

std::optional<bson::Document> FailPoints::strike(std::string_view name, const Concerns& concerns) {
  if (!any()) return std::nullopt;
  const base::MutexLock lock(mutex_);
  const auto found = points_.find(name);
  if (found == points_.end()) return std::nullopt;
  Point& point = found->second;
  if (point.mode == Point::Mode::off || (concerns && !concerns(point.data))) return std::nullopt;
  if (point.mode == Point::Mode::skip && point.count > 0) {
    --point.count;
    return std::nullopt;
  }
  if (point.mode == Point::Mode::times && point.count-- <= 0) {
    point.mode = Point::Mode::off;
    return std::nullopt;
  }
  if (point.mode == Point::Mode::probability && base::Random(base::entropy64()).unit() >= point.probability) return std::nullopt;
  ++point.entered;
  return point.data;
}

bool FailPoints::armed(std::string_view name, const Concerns& concerns) const {
  const base::MutexLock lock(mutex_);
  const auto found = points_.find(name);
  if (found == points_.end()) return false;
  const Point& point = found->second;
  const bool ready = point.mode == Point::Mode::on || point.mode == Point::Mode::probability ||
                     (point.mode == Point::Mode::times && point.count > 0) ||
                     (point.mode == Point::Mode::skip && point.count == 0);
  return ready && concerns(point.data);
}

int64_t FailPoints::entered(std::string_view name) const {
  const base::MutexLock lock(mutex_);
  const auto found = points_.find(name);
  return found == points_.end() ? 0 : found->second.entered;
}

}  // namespace server
