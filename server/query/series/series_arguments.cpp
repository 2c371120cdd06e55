#include "server/query/series/series_arguments.h"

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/core/arguments.h"

namespace server::query {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr int64_t span_s_max = 31536000;  // a year

[[noreturn]] void invalid(const std::string& message) {
  throw OperationError(ErrorCode::invalid_options, message);
}

std::optional<int64_t> seconds(const Arguments& given, std::string_view name) {
  const auto value = given.integer(name);
  if (!value) return value;
  const bool low = *value < 1;
  if (!low && *value <= span_s_max) return value;
  throw OperationError(51024, "BSON field '" + given.dotted(name) + "' value must be " + (low ? ">= 1" : "<= 31536000") +
                                  ", actual value '" + std::to_string(*value) + "'");
}

void check_top_level(const std::string& name, const char* field) {
  if (name.find('.') != std::string::npos)
    invalid("'" + std::string(field) + "' must be a top-level field and not contain a '.'");
  // Their names are parts of paths in buckets.
  if (name.empty() || name.starts_with("$") || name.find('\0') != std::string::npos)
    invalid("'" + std::string(field) + "' must be the name of a field");
}

std::string required_field(const Arguments& given, std::string_view name) {
  if (const auto value = given.string(name)) return std::string(*value);
  throw OperationError(40414, "BSON field '" + given.dotted(name) + "' is missing but a required field");
}

void check_granularity(const Arguments& given, const std::string& name) {
  if (granularity_of(name)) return;
  throw OperationError(ErrorCode::bad_value,
                       "Enumeration value '" + name + "' for field '" + given.dotted("granularity") + "' is not a valid value.");
}

void check_default(const std::optional<int64_t>& given, int64_t expected, const char* name) {
  if (!given || *given == expected) return;
  invalid("Timeseries '" + std::string(name) + "' is not configurable to a value other than the default of " +
          std::to_string(expected) + " for the provided granularity");
}

void check_pair(const std::optional<int64_t>& span, const std::optional<int64_t>& rounding) {
  if (span.has_value() != rounding.has_value())
    invalid("Timeseries 'bucketMaxSpanSeconds' and 'bucketRoundingSeconds' need to be set alongside each other");
  if (span && *span != *rounding) invalid("Timeseries 'bucketRoundingSeconds' needs to be equal to 'bucketMaxSpanSeconds'");
}

void set_granularity(SeriesOptions& options, const std::string& name) {
  const auto known = granularity_of(name);
  options.granularity = name;
  options.span_s = known->span_s;
  options.rounding_s = known->rounding_s;
}

// Returns the rules that MongoDB's collections of buckets have for their documents.
bson::Document validator(const SeriesOptions& series) {
  const auto type = [](bson::Builder& out, std::string_view name, const char* what) {
    out.object(name).append("bsonType", what);
  };
  bson::Builder out;
  {
    bson::Builder schema = out.object("$jsonSchema");
    schema.append("bsonType", "object");
    schema.array("required").append("_id").append("control").append("data");
    {
      bson::Builder properties = schema.object("properties");
      type(properties, "_id", "objectId");
      {
        bson::Builder control = properties.object("control");
        control.append("bsonType", "object");
        control.array("required").append("version").append("min").append("max");
        {
          bson::Builder parts = control.object("properties");
          type(parts, "version", "number");
          for (const char* name : {"min", "max"}) {
            bson::Builder part = parts.object(name);
            part.append("bsonType", "object");
            part.array("required").append(series.time_field);
            bson::Builder fields = part.object("properties");
            type(fields, series.time_field, "date");
          }
          type(parts, "closed", "bool");
          parts.object("count").append("bsonType", "number").append("minimum", 1);
        }
        control.append("additionalProperties", false);
      }
      type(properties, "data", "object");
      properties.object("meta");
    }
    schema.append("additionalProperties", false);
  }
  return out.done();
}

}  // namespace

SeriesOptions parse_series(const Arguments& given) {
  given.only({"timeField", "metaField", "granularity", "bucketMaxSpanSeconds", "bucketRoundingSeconds"});
  SeriesOptions options;
  options.time_field = required_field(given, "timeField");
  check_top_level(options.time_field, "timeField");
  if (const auto meta = given.string("metaField")) {
    options.meta_field = *meta;
    if (options.meta_field == "_id") invalid("'metaField' cannot be \"_id\"");
    if (options.meta_field == options.time_field) invalid("'metaField' cannot be the same as 'timeField'");
    check_top_level(options.meta_field, "metaField");
  }
  const auto span = seconds(given, "bucketMaxSpanSeconds"), rounding = seconds(given, "bucketRoundingSeconds");
  const auto granularity = given.string("granularity");
  if (granularity) check_granularity(given, std::string(*granularity));
  if (granularity || (!span && !rounding)) {
    set_granularity(options, granularity ? std::string(*granularity) : "seconds");
    check_default(span, options.span_s, "bucketMaxSpanSeconds");
    check_default(rounding, options.rounding_s, "bucketRoundingSeconds");
    return options;
  }
  check_pair(span, rounding);
  options.span_s = *span;
  options.rounding_s = *rounding;
  return options;
}

SeriesOptions changed_series(const SeriesOptions& now, const Arguments& given) {
  given.only({"granularity", "bucketMaxSpanSeconds", "bucketRoundingSeconds"});
  const auto span = seconds(given, "bucketMaxSpanSeconds"), rounding = seconds(given, "bucketRoundingSeconds");
  const auto granularity = given.string("granularity");
  SeriesOptions changed = now;
  if (granularity) {
    check_granularity(given, std::string(*granularity));
    set_granularity(changed, std::string(*granularity));
    check_default(span, changed.span_s, "bucketMaxSpanSeconds");
    check_default(rounding, changed.rounding_s, "bucketRoundingSeconds");
    if (!now.granularity.empty() && changed.span_s < now.span_s) {
      invalid(
          "Invalid transition for timeseries.granularity. Can only transition from 'seconds' to 'minutes' or 'minutes' to "
          "'hours'.");
    }
  } else if (span || rounding) {
    check_pair(span, rounding);
    changed.granularity.clear();
    changed.span_s = *span;
    changed.rounding_s = *rounding;
  }
  if (changed.span_s < now.span_s) invalid("Timeseries 'bucketMaxSpanSeconds' needs to be equal or greater to transition");
  if (changed.rounding_s < now.rounding_s)
    invalid("Timeseries 'bucketRoundingSeconds' needs to be equal or greater to transition");
  return changed;
}

bson::Document buckets_options(const SeriesOptions& series, bson::DocumentView others) {
  bson::Builder out;
  out.append("validator", validator(series)).append_all(others);
  out.append("clusteredIndex", true).append(series_option, series.document());
  return out.done();
}

}  // namespace server::query
