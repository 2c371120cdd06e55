// `create` and $out get the options of a time series from clients; collMod changes them.
#pragma once

#include "bson/document.h"
#include "server/query/series/series_options.h"

namespace server {
class Arguments;
}

namespace server::query {

// Parses {timeField, metaField, granularity, bucketMaxSpanSeconds, bucketRoundingSeconds}. Throws InvalidOptions (72) …
SeriesOptions parse_series(const Arguments& given);
// Returns the options after collMod was given {granularity} or {bucketMaxSpanSeconds, bucketRoundingSeconds}: a bucket's span can
// only grow. Throws InvalidOptions.
SeriesOptions changed_series(const SeriesOptions& now, const Arguments& given);

// Returns the options of the collection that has the buckets; `others` are appended.
bson::Document buckets_options(const SeriesOptions& series, bson::DocumentView others);

}  // namespace server::query
