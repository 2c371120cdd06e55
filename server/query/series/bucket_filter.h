// The planner sees buckets, so predicates on measurements are turned into predicates on buckets:
//
//   {sensor: 17, at: {$gte: T}}  ->  {$and: [{meta: 17}, {"control.max.at": {$gte: T}}, {"control.min.at": {$gt: T - span}},
//                                            {_id: {$gte: ObjectId(T - span)}}]}
#pragma once

#include "bson/document.h"
#include "bson/value.h"
#include "server/query/series/series_options.h"

namespace server::query {

// Returns a filter that every bucket with a matching measurement matches; empty: every bucket may have one. Only predicates on
// the time and the meta count; those on other fields are left to the measurements.
bson::Document bucket_filter(const SeriesOptions& options, bson::DocumentView filter);

// Returns a filter over the meta alone as one over buckets; nullopt: it asks for something else, too.
std::optional<bson::Document> meta_filter(const SeriesOptions& options, bson::DocumentView filter);

// Returns the path in a bucket of a path that begins with the meta field: "sensor.place" is "meta.place". nullopt: it doesn't.
std::optional<std::string> meta_path(const SeriesOptions& options, std::string_view path);

}  // namespace server::query
