#include "server/query/series/series_options.h"

#include "bson/builder.h"
#include "storage/engine/names.h"

namespace server::query {

int64_t SeriesOptions::rounded(int64_t time_ms) const {
  const int64_t step = rounding_s * 1000;
  const int64_t over = ((time_ms % step) + step) % step;
  int64_t first = 0;
  return __builtin_sub_overflow(time_ms, over, &first) ? time_ms : first;
}

bson::Document SeriesOptions::document() const {
  bson::Builder out;
  out.append("timeField", time_field);
  if (!meta_field.empty()) out.append("metaField", meta_field);
  if (granularity.empty())
    out.append("bucketRoundingSeconds", static_cast<int32_t>(rounding_s));
  else
    out.append("granularity", granularity);
  out.append("bucketMaxSpanSeconds", static_cast<int32_t>(span_s));
  return out.done();
}

std::optional<Granularity> granularity_of(std::string_view name) {
  if (name == "seconds") return Granularity{3600, 60};
  if (name == "minutes") return Granularity{86400, 3600};
  if (name == "hours") return Granularity{2592000, 86400};
  return std::nullopt;
}

std::optional<SeriesOptions> read_series_options(bson::DocumentView collection_options) {
  const bson::Element given = collection_options[series_option];
  if (!given.is_object()) return std::nullopt;
  const bson::DocumentView fields = given.as_document();
  const bson::Element time = fields["timeField"], meta = fields["metaField"], granularity = fields["granularity"];
  const bson::Element span = fields["bucketMaxSpanSeconds"], rounding = fields["bucketRoundingSeconds"];
  if (!time.is_string()) return std::nullopt;
  SeriesOptions options;
  options.time_field = time.as_string();
  if (meta.is_string()) options.meta_field = meta.as_string();
  if (granularity.is_string()) options.granularity = granularity.as_string();
  const Granularity known = granularity_of(options.granularity).value_or(Granularity{3600, 60});
  options.span_s = span.is_number() && span.to_int64() > 0 ? span.to_int64() : known.span_s;
  options.rounding_s = rounding.is_number() && rounding.to_int64() > 0 ? rounding.to_int64() : known.rounding_s;
  return options;
}

bson::Document unpacking_stage(const SeriesOptions& options) {
  bson::Builder out;
  {
    bson::Builder stage = out.object(unpack_stage);
    { bson::ArrayBuilder nothing = stage.array("exclude"); }
    stage.append("timeField", options.time_field);
    if (!options.meta_field.empty()) stage.append("metaField", options.meta_field);
    stage.append("bucketMaxSpanSeconds", static_cast<int32_t>(options.span_s));
  }
  return out.done();
}

std::string buckets_of(std::string_view ns) {
  return std::string(storage::database_of(ns)) + "." + std::string(storage::buckets_prefix) +
         std::string(storage::collection_of(ns));
}

bool is_buckets(std::string_view ns) {
  return storage::collection_of(ns).starts_with(storage::buckets_prefix);
}

std::string_view series_name(std::string_view buckets_ns) {
  return storage::collection_of(buckets_ns).substr(storage::buckets_prefix.size());
}

}  // namespace server::query
