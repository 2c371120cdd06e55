// $_internalUnpackBucket returns the measurements of a time series' buckets (../series/bucket.h).
#pragma once

#include "server/query/series/series_options.h"
#include "server/query/stages/stage.h"

namespace server::query {

// Such a stage says which of its input can have documents that a $match behind it lets through.
class Unpacking {
 public:
  virtual ~Unpacking() = default;
  // Returns a filter over the input; empty: all of it.
  virtual bson::Document input_filter(bson::DocumentView filter) const = 0;
};

// Such a source describes a collection of buckets, and shows the time series in its place.
class Describing {
 public:
  virtual ~Describing() = default;
  virtual void show(SeriesOptions series) = 0;
};

}  // namespace server::query
