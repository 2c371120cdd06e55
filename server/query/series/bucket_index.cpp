#include "server/query/series/bucket_index.h"

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/query/series/bucket_filter.h"

namespace server::query {

using base::ErrorCode;
using base::OperationError;
using bson::DocumentView;
using bson::Element;
using bson::ValueView;

namespace {

[[noreturn]] void not_supported(const std::string& what) {
  throw OperationError(ErrorCode::invalid_options, what + " are not supported on time-series collections");
}

bool is_backwards(const ValueView& direction) {
  return direction.is_number() && direction.to_double() < 0;
}

// Returns a filter over buckets' meta as one over the time series.
bson::Document series_filter(const SeriesOptions& options, DocumentView filter) {
  bson::Builder out;
  for (const Element& field : filter) {
    if (field.name.starts_with("$") && field.is_array()) {
      bson::ArrayBuilder branches = out.array(field.name);
      for (const Element& branch : field.as_document()) branches.append(series_filter(options, branch.as_document()));
    } else if (field.name == "meta" || field.name.starts_with("meta.")) {
      out.append(options.meta_field + std::string(field.name.substr(4)), static_cast<const ValueView&>(field));
    } else {
      out.append_element(field);
    }
  }
  return out.done();
}

}  // namespace

bson::Document bucket_key(const SeriesOptions& options, DocumentView key) {
  const std::string min = "control.min." + options.time_field, max = "control.max." + options.time_field;
  bson::Builder out;
  for (const Element& field : key) {
    const ValueView direction = field;
    if (field.name == options.time_field && field.is_number()) {
      const bool backwards = is_backwards(field);
      out.append(backwards ? max : min, direction).append(backwards ? min : max, direction);
    } else if (const auto path = meta_path(options, field.name)) {
      out.append(*path, direction);
    } else {
      throw OperationError(
          ErrorCode::cannot_create_index,
          "Indexes of a time-series collection may have the timeField and the metaField only: " + bson::to_shell(key));
    }
  }
  return out.done();
}

std::optional<bson::Document> series_key(const SeriesOptions& options, DocumentView key) {
  const std::string min = "control.min." + options.time_field, max = "control.max." + options.time_field;
  bson::Builder out;
  for (auto at = key.begin(); at != key.end(); ++at) {
    const Element field = *at;
    if (field.name == min || field.name == max) {
      const std::string& second = is_backwards(field) ? min : max;
      if (field.name != (is_backwards(field) ? max : min)) return std::nullopt;
      ++at;
      if (at == key.end() || at->name != second || !at->is_number()) return std::nullopt;
      out.append(options.time_field, static_cast<const ValueView&>(field));
    } else if (!options.meta_field.empty() && (field.name == "meta" || field.name.starts_with("meta."))) {
      out.append(options.meta_field + std::string(field.name.substr(4)), static_cast<const ValueView&>(field));
    } else {
      return std::nullopt;
    }
  }
  return out.done();
}

bson::Document bucket_index(const SeriesOptions& options, DocumentView given) {
  bson::Builder out;
  for (const Element& field : given) {
    if (field.name == "key" && field.is_object()) {
      for (const Element& part : field.as_document()) {
        if (part.is_string() && part.as_string() == "text") not_supported("Text indexes");
        if (part.is_string() && part.as_string() == "2d") not_supported("2d indexes");
        if (part.name == "_id" && field.as_document().count() == 1) {
          throw OperationError(ErrorCode::cannot_create_index, "cannot create an _id index on a collection that has none");
        }
      }
      out.append("key", bucket_key(options, field.as_document()));
      continue;
    }
    if (field.name == "unique" && field.truthy()) not_supported("Unique indexes");
    if (field.name == "expireAfterSeconds") not_supported("TTL indexes");
    if (field.name == "sparse" && field.truthy()) {
      const Element key = given["key"];
      const bool over_time = key.is_object() && key.as_document().has(options.time_field);
      if (over_time) not_supported("Sparse indexes over the timeField");
    }
    if (field.name == "partialFilterExpression" && field.is_object()) {
      const auto filter = meta_filter(options, field.as_document());
      if (!filter) not_supported("Partial indexes whose filter has other fields than the metaField");
      out.append(field.name, *filter);
      continue;
    }
    out.append_element(field);
  }
  return out.done();
}

std::optional<bson::Document> series_index(const SeriesOptions& options, DocumentView spec) {
  const Element key = spec["key"];
  const auto own = key.is_object() ? series_key(options, key.as_document()) : std::nullopt;
  if (!own) return std::nullopt;
  bson::Builder out;
  for (const Element& field : spec) {
    if (field.name == "key") {
      out.append("key", *own);
    } else if (field.name == "partialFilterExpression" && field.is_object()) {
      out.append(field.name, series_filter(options, field.as_document()));
    } else {
      out.append_element(field);
    }
  }
  return out.done();
}

bson::Document default_key(const SeriesOptions& options) {
  bson::Builder key;
  key.append("meta", 1).append("control.min." + options.time_field, 1).append("control.max." + options.time_field, 1);
  return key.done();
}

bson::Document default_index(const SeriesOptions& options) {
  bson::Builder given;
  given.append("key", default_key(options)).append("name", options.meta_field + "_1_" + options.time_field + "_1");
  return given.done();
}

}  // namespace server::query
