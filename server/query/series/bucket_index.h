// An index of a time series is one of its buckets: {sensor: 1, at: 1} is {meta: 1, "control.min.at": 1, "control.max.at": 1}.
#pragma once

#include <optional>

#include "bson/document.h"
#include "server/query/series/series_options.h"

namespace server::query {

// Returns the key in buckets of a key over the time and the meta. Throws CannotCreateIndex (67) for other fields.
bson::Document bucket_key(const SeriesOptions& options, bson::DocumentView key);
// Returns the key of the time series; nullopt: an index of the buckets alone.
std::optional<bson::Document> series_key(const SeriesOptions& options, bson::DocumentView key);

// Returns the description of an index as createIndexes gets it for the buckets. Throws InvalidOptions (72) for kinds of index
// that time series don't have.
bson::Document bucket_index(const SeriesOptions& options, bson::DocumentView given);
// Returns the description as listIndexes shows it for the time series; nullopt: it is an index of the buckets alone.
std::optional<bson::Document> series_index(const SeriesOptions& options, bson::DocumentView spec);

// Returns the key in buckets of {meta: 1, time: 1}, by which measurements find their bucket.
bson::Document default_key(const SeriesOptions& options);
// Returns the index that a new time series has, as createIndexes gets it.
bson::Document default_index(const SeriesOptions& options);

}  // namespace server::query
