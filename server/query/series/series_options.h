// A time series `weather` is a view, made by the stage $_internalUnpackBucket, of the collection system.buckets.weather, whose
// documents are buckets of measurements (bucket.h). That collection keeps the options of the time series among its own:
//
//   timeseries: {timeField: "at", metaField: "sensor", granularity: "seconds", bucketMaxSpanSeconds: 3600}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bson/document.h"

namespace server::query {

inline constexpr std::string_view series_option = "timeseries";

struct SeriesOptions {
  std::string time_field;
  std::string meta_field;   // empty: measurements have no common field
  std::string granularity;  // empty: the next two were chosen freely
  int64_t span_s = 0;       // a bucket's measurements lie less than this apart from its first moment
  int64_t rounding_s = 0;   // a bucket's first moment is a multiple of it

  int64_t span_ms() const { return span_s * 1000; }
  // Returns the first moment of a bucket that is made for a measurement of that time.
  int64_t rounded(int64_t time_ms) const;
  // Returns them as listCollections shows them.
  bson::Document document() const;
};

// Returns what a granularity stands for; nullopt: there is no such granularity.
struct Granularity {
  int64_t span_s = 0;
  int64_t rounding_s = 0;
};
std::optional<Granularity> granularity_of(std::string_view name);

// Reads the options of a collection of buckets; nullopt: it is another collection.
std::optional<SeriesOptions> read_series_options(bson::DocumentView collection_options);

// Returns {$_internalUnpackBucket: …}, the pipeline of the time series over its buckets.
inline constexpr std::string_view unpack_stage = "$_internalUnpackBucket";
bson::Document unpacking_stage(const SeriesOptions& options);

// "shop.weather" <-> "shop.system.buckets.weather"
std::string buckets_of(std::string_view ns);
bool is_buckets(std::string_view ns);
// Returns the name of the time series, without its database. The name must be that of a collection of buckets.
std::string_view series_name(std::string_view buckets_ns);

}  // namespace server::query
