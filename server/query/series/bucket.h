// A bucket is a document that holds up to 1,000 measurements of one series:
//
//   {_id: ObjectId(its first moment, …),
//    control: {version: 1, min: {at: …, temp: 8}, max: {at: …, temp: 12}},
//    meta: {sensor: 17},                       the measurements' common field; missing if they have none
//    data: {at:   {"0": …, "1": …, "2": …},    a column a field; measurement i has the values under "i"
//           temp: {"0": 8,        "2": 12}}}
//
// MongoDB compresses full buckets (version 2). We read them, and write none:
//
//    control: {version: 2, min: …, max: …, count: 3},
//    data: {at: BinData(7, …), temp: BinData(7, …)}       columns as bson/column.h reads them
//
// control.min.at is the bucket's first moment, rounded down; the other values in min and max are the least and the greatest of
// their field, objects and arrays part by part.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bson/builder.h"
#include "bson/collator.h"
#include "bson/document.h"
#include "server/query/series/series_options.h"

namespace server::query {

inline constexpr int64_t bucket_measurements_max = 1000;
inline constexpr size_t bucket_bytes_max = 125 * 1024;
// Few large measurements may share a bucket beyond bucket_bytes_max.
inline constexpr int64_t bucket_measurements_min = 10;
inline constexpr size_t bucket_bytes_max_large = 12 << 20;
inline constexpr size_t measurement_bytes_max = 4 << 20;
// A compressed bucket has at most so many measurements, and its columns so many bytes when they are read.
inline constexpr int64_t compressed_measurements_max = 10'000;
inline constexpr size_t compressed_bytes_max = 16 << 20;

// Returns an ObjectId whose time is the first moment of a bucket; `last`: the greatest or the least such value. Moments that an
// ObjectId can't hold count as the nearest one that it can, so the order is kept.
bson::ObjectId bucket_id(int64_t first_ms);
bson::ObjectId bucket_id_bound(int64_t first_ms, bool last);

// Returns a meta value as buckets have it: the fields of its objects are in alphabetical order, so their order doesn't tell two
// values apart.
bson::Value normalized_meta(const bson::ValueView& meta);

// Throws BadValue (2) if a document from outside isn't a bucket of that series, and what read_column throws for damaged columns.
void check_bucket(const SeriesOptions& options, bson::DocumentView bucket);

// Returns whether a stored document has the parts that a BucketBuilder goes on with. Others can't be added to: they are
// compressed, or merges of branches and applyOps may have put them there.
bool has_bucket_shape(const SeriesOptions& options, bson::DocumentView bucket);

// Returns the measurement's time. Throws 5743702 if it has none, and for what no bucket can hold.
int64_t check_measurement(const SeriesOptions& options, bson::DocumentView measurement);

// Returns the number of measurements in a bucket.
int64_t measurement_count(const SeriesOptions& options, bson::DocumentView bucket);

// Steps over the measurements of a bucket, which must outlive it.
class BucketReader {
 public:
  // Throws BadValue if the document has no columns, and what read_column throws for damaged ones.
  BucketReader(std::string_view time_field, std::string_view meta_field, bson::DocumentView bucket);
  BucketReader(const BucketReader&) = delete;

  // The memory that it needs for a compressed bucket.
  size_t held_bytes() const { return expanded_.size(); }

  // Goes to the next measurement.
  bool next();
  // Appends the fields of the measurement: its time, its meta, then the others.
  void append(bson::Builder& out);
  bson::Document measurement();

 private:
  struct Column {
    std::string_view name;
    bson::DocumentView::Iterator at;
  };
  const std::string_view time_field_, meta_field_;
  bson::Document expanded_;  // the bucket without its compression, if it has one
  bson::ValueView meta_;
  bson::DocumentView::Iterator time_;
  bson::Element now_;  // the time, under the measurement's number
  std::vector<Column> columns_;
  bool begun_ = false;
};

// Adds measurements to a bucket.
class BucketBuilder {
 public:
  // Begins a bucket with no measurements. `meta` is normalized; missing: there is none. Strings are compared by `collator`.
  BucketBuilder(const SeriesOptions& options, const bson::ValueView& meta, int64_t first_ms, const bson::Collator* collator);
  // Makes a bucket anew, with other measurements: it keeps its _id, its meta and its first moment, and is not compressed any
  // more. Throws BadValue if it hasn't the shape of a bucket.
  static BucketBuilder emptied(const SeriesOptions& options, bson::DocumentView bucket, const bson::Collator* collator);
  // Goes on with a document that has the shape of a bucket.
  BucketBuilder(const SeriesOptions& options, bson::DocumentView bucket, const bson::Collator* collator);

  // Returns whether the measurement may go into this bucket: its meta isn't looked at.
  bool fits(bson::DocumentView measurement, int64_t time_ms) const;
  void add(bson::DocumentView measurement);

  int64_t count() const { return count_; }
  // The builder can go on after it.
  bson::Document document() const;

 private:
  struct Column {
    std::string name;
    std::vector<std::pair<uint32_t, bson::Value>> added;
    bson::Document before;  // the elements that the bucket has
    bson::Value min, max;
  };
  Column& column(std::string_view name);
  const Column* find(std::string_view name) const;

  const SeriesOptions& options_;
  const bson::Collator* collator_;
  bson::ObjectId id_;
  bson::Value meta_;
  int64_t first_ms_ = 0;
  int64_t count_ = 0;
  size_t bytes_ = 0;
  std::vector<Column> columns_;
};

}  // namespace server::query
