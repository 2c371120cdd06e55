#include "geo/index_options.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/types.h"

namespace geo {
namespace {

using base::ErrorCode;
using base::OperationError;
using bson::Element;

std::optional<double> number(bson::DocumentView spec, std::string_view name) {
  const Element field = spec.find(name);
  if (!field.exists()) return std::nullopt;
  if (!field.is_number()) {
    throw OperationError(ErrorCode::type_mismatch, "The field '" + std::string(name) + "' must be a number, but got " +
                                                       std::string(bson::type_name(field.type())));
  }
  return field.to_double();
}

std::optional<int> whole(bson::DocumentView spec, std::string_view name) {
  if (!number(spec, name)) return std::nullopt;
  return static_cast<int>(std::clamp<int64_t>(spec.find(name).to_int64(), INT32_MIN, INT32_MAX));
}

std::string text(double value) {
  bson::Builder out;
  out.append("", value);
  std::string shown = bson::to_shell(static_cast<bson::ValueView>(out.done().view().first()));
  return shown;
}

void parse_sphere(bson::DocumentView spec, IndexOptions& options) {
  options.version = whole(spec, "2dsphereIndexVersion").value_or(options.version);
  if (options.version < 1 || options.version > 3) {
    throw OperationError(ErrorCode::cannot_create_index,
                         "unsupported geo index version { 2dsphereIndexVersion : " + std::to_string(options.version) +
                             " }, only support versions: [1,2,3]");
  }
  options.coarsest_level = whole(spec, "coarsestIndexedLevel").value_or(options.coarsest_level);
  options.finest_level = whole(spec, "finestIndexedLevel").value_or(options.finest_level);
  if (options.coarsest_level < 0) throw OperationError(16747, "coarsestIndexedLevel must be >= 0");
  if (options.finest_level > 30) throw OperationError(16748, "finestIndexedLevel must be <= 30");
  if (options.finest_level < options.coarsest_level)
    throw OperationError(16749, "finestIndexedLevel must be >= coarsestIndexedLevel");
}

void parse_flat(bson::DocumentView spec, IndexOptions& options) {
  options.bits = whole(spec, "bits").value_or(options.bits);
  options.min = number(spec, "min").value_or(options.min);
  options.max = number(spec, "max").value_or(options.max);
  if (options.bits < 1 || options.bits > 32) {
    throw OperationError(ErrorCode::invalid_options,
                         "bits for hash must be > 0 and <= 32, but " + std::to_string(options.bits) + " bits were specified");
  }
  if (!(options.min < options.max) || !std::isfinite(options.max - options.min)) {
    throw OperationError(ErrorCode::invalid_options, "region for hash must be valid and have positive area, but [" +
                                                         text(options.min) + ", " + text(options.max) + "] was specified");
  }
}

}  // namespace

IndexOptions parse_index_options(bson::DocumentView spec, bool sphere) {
  IndexOptions options{.sphere = sphere};
  sphere ? parse_sphere(spec, options) : parse_flat(spec, options);
  return options;
}

}  // namespace geo
