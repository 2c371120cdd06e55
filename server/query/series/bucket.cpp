#include "server/query/series/bucket.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.h"
#include "bson/column.h"
#include "bson/compare.h"
#include "bson/validate.h"

namespace server::query {

using base::ErrorCode;
using base::OperationError;
using bson::DocumentView;
using bson::Element;
using bson::Type;
using bson::Value;
using bson::ValueView;

namespace {

constexpr size_t seconds_bytes = 4;  // an ObjectId begins with its time

uint32_t id_seconds(int64_t first_ms) {
  const int64_t seconds = first_ms / 1000 - (first_ms % 1000 < 0 ? 1 : 0);
  return static_cast<uint32_t>(std::clamp<int64_t>(seconds, 0, std::numeric_limits<uint32_t>::max()));
}

void put_seconds(bson::ObjectId& id, uint32_t seconds) {
  for (size_t i = 0; i < seconds_bytes; ++i) id.bytes[i] = static_cast<uint8_t>(seconds >> (8 * (seconds_bytes - 1 - i)));
}

// Returns the less (or greater) of two values; of two objects or two arrays part by part.
Value extreme(bool least, const ValueView& known, const ValueView& other, const bson::Collator* collator) {
  if (known.is_object() && other.is_object()) {
    bson::Builder out;
    for (const Element& field : known.as_document()) {
      const Element same = other.as_document()[field.name];
      if (same.exists())
        out.append(field.name, extreme(least, field, same, collator));
      else
        out.append_element(field);
    }
    for (const Element& field : other.as_document()) {
      if (!known.as_document().has(field.name)) out.append_element(field);
    }
    return Value(out.done());
  }
  if (known.is_array() && other.is_array()) {
    bson::ArrayBuilder out;
    auto a = known.as_document().begin(), b = other.as_document().begin();
    const bson::DocumentView::Iterator end;
    while (a != end || b != end) {
      if (a != end && b != end)
        out.append(extreme(least, *a, *b, collator));
      else
        out.append(static_cast<const ValueView&>(a != end ? *a : *b));
      if (a != end) ++a;
      if (b != end) ++b;
    }
    return out.done_value();
  }
  const int order = bson::compare(other, known, collator);
  return Value((least ? order < 0 : order > 0) ? other : known);
}

// Returns whether a value is of the kind that a bucket has under the field already. Buckets don't mix kinds, so their extremes
// say something about all of their values.
bool same_kind(const ValueView& known, const ValueView& other) {
  if (bson::canonical_rank(known.type()) != bson::canonical_rank(other.type())) return false;
  if (!known.is_object() && !known.is_array()) return true;
  for (const Element& field : other.as_document()) {
    const Element before = known.as_document()[field.name];
    if (before.exists() && !same_kind(before, field)) return false;
  }
  return true;
}

[[noreturn]] void no_bucket(const std::string& why) {
  throw OperationError(ErrorCode::bad_value, "The document is not a valid bucket of a time-series collection: " + why);
}

// Returns the number that a column's key is; nullopt: it is none.
std::optional<uint32_t> number_of(std::string_view key) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error != std::errc() || end != key.data() + key.size()) return std::nullopt;
  if (key.size() > 1 && key.front() == '0') return std::nullopt;
  return number;
}

// Checks the times of a bucket; returns how many there are.
int64_t check_times(const SeriesOptions& options, DocumentView times, int64_t first_ms, int64_t last_ms) {
  int64_t count = 0;
  int64_t latest = std::numeric_limits<int64_t>::min();
  for (const Element& time : times) {
    if (number_of(time.name) != static_cast<uint32_t>(count)) no_bucket("the times aren't numbered from 0");
    if (time.type() != Type::date) no_bucket("a time isn't a date");
    const int64_t at = time.as_date().ms;
    int64_t since = 0;
    if (at < first_ms || __builtin_sub_overflow(at, first_ms, &since) || since >= options.span_ms())
      no_bucket("a time lies outside of the bucket's span");
    latest = std::max(latest, at);
    ++count;
  }
  if (count == 0) no_bucket("it has no measurements");
  if (latest != last_ms) no_bucket("control.max isn't the latest time");
  return count;
}

constexpr int64_t plain_version = 1, compressed_version = 2;

// Returns the version of a bucket; 0: it has none.
int64_t version_of(DocumentView bucket) {
  const Element control = bucket["control"];
  const Element version = control.is_object() ? control.as_document()["version"] : Element();
  if (!version.is_number()) return 0;
  const double number = version.to_double();
  return number == plain_version ? plain_version : number == compressed_version ? compressed_version : 0;
}

int64_t compressed_count(DocumentView bucket) {
  const Element count = bucket["control"].as_document()["count"];
  const int64_t number = count.is_number() ? count.to_int64() : 0;
  if (number < 1 || number > compressed_measurements_max) no_bucket("control.count isn't a number of measurements");
  return number;
}

// Reads the columns of a compressed bucket; returns it as one without compression.
bson::Document expand(std::string_view time_field, DocumentView bucket) {
  const auto count = static_cast<size_t>(compressed_count(bucket));
  bson::ColumnBudget budget{.values_max = count, .bytes_left = compressed_bytes_max};
  bson::Builder out;
  bool has_control = false;
  for (const Element& field : bucket) {
    if (field.name == "control") {
      if (!field.is_object() || std::exchange(has_control, true)) no_bucket("control isn't one object");
      bson::Builder control = out.object("control");
      for (const Element& one : field.as_document()) {
        if (one.name == "version")
          control.append("version", static_cast<int32_t>(plain_version));
        else if (one.name != "count")
          control.append_element(one);
      }
    } else if (field.name != "data" || !field.is_object()) {
      out.append_element(field);
    } else {
      bson::Builder data = out.object("data");
      for (const Element& column : field.as_document()) {
        if (column.type() != Type::binary || column.as_binary().subtype != bson::column_subtype)
          no_bucket("a column isn't compressed");
        bson::Builder values = data.object(column.name);
        const size_t places = bson::read_column(column.as_binary().bytes, budget, [&](size_t place, const ValueView& value) {
          values.append(std::to_string(place), value);
        });
        if (column.name == time_field && places != count) no_bucket("control.count isn't the number of times");
      }
    }
  }
  bson::Document expanded = out.done();
  // Columns may nest objects deeper than documents may.
  (void)bson::validate(expanded.bytes(), {.bytes_max = bson::buffer_bytes_max}).or_throw();
  return expanded;
}

void check_column(const Element& column, int64_t count) {
  if (!column.is_object()) no_bucket("a column isn't an object");
  int64_t before = -1;
  for (const Element& value : column.as_document()) {
    const auto number = number_of(value.name);
    if (!number || *number <= before || *number >= count) no_bucket("a column's keys aren't numbers in order");
    before = *number;
  }
}

Value ordered_array(DocumentView elements);

bson::Document ordered(DocumentView fields) {
  std::vector<Element> all(fields.begin(), fields.end());
  std::stable_sort(all.begin(), all.end(), [](const Element& a, const Element& b) { return a.name < b.name; });
  bson::Builder out;
  for (const Element& field : all) {
    if (field.is_object())
      out.append(field.name, ordered(field.as_document()));
    else if (field.is_array())
      out.append(field.name, ordered_array(field.as_document()));
    else
      out.append_element(field);
  }
  return out.done();
}

Value ordered_array(DocumentView elements) {
  bson::ArrayBuilder out;
  for (const Element& element : elements) {
    if (element.is_object())
      out.append(ordered(element.as_document()));
    else if (element.is_array())
      out.append(ordered_array(element.as_document()));
    else
      out.append(static_cast<const ValueView&>(element));
  }
  return out.done_value();
}

void check_names_differ(DocumentView measurement) {
  std::vector<std::string_view> names;
  for (const Element& field : measurement) names.push_back(field.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return;
  throw OperationError(ErrorCode::bad_value, "A measurement can't have the field '" + std::string(*twice) + "' twice");
}

}  // namespace

bson::ObjectId bucket_id(int64_t first_ms) {
  bson::ObjectId id = bson::ObjectId::generate();
  put_seconds(id, id_seconds(first_ms));
  return id;
}

bson::ObjectId bucket_id_bound(int64_t first_ms, bool last) {
  bson::ObjectId id;
  id.bytes.fill(last ? 0xff : 0);
  put_seconds(id, id_seconds(first_ms));
  return id;
}

Value normalized_meta(const ValueView& meta) {
  if (meta.is_object()) return Value(ordered(meta.as_document()));
  if (meta.is_array()) return ordered_array(meta.as_document());
  return Value(meta);
}

int64_t check_measurement(const SeriesOptions& options, DocumentView measurement) {
  const Element time = measurement[options.time_field];
  if (time.type() != Type::date) {
    throw OperationError(ErrorCode::bad_value,
                         "'" + options.time_field + "' must be present and contain a valid BSON UTC datetime value");
  }
  if (measurement.size() > measurement_bytes_max) {
    throw OperationError(ErrorCode::bson_object_too_large, "The measurement has " + std::to_string(measurement.size()) +
                                                               " bytes; in a time-series collection it can have " +
                                                               std::to_string(measurement_bytes_max));
  }
  check_names_differ(measurement);
  return time.as_date().ms;
}

void check_bucket(const SeriesOptions& options, DocumentView bucket) {
  for (const Element& field : bucket) {
    const bool known = field.name == "_id" || field.name == "control" || field.name == "data" ||
                       (field.name == "meta" && !options.meta_field.empty());
    if (!known) no_bucket("it has the field '" + std::string(field.name) + "'");
  }
  const Element id = bucket["_id"], control = bucket["control"], data = bucket["data"];
  if (id.type() != Type::object_id) no_bucket("_id isn't an ObjectId");
  if (!control.is_object() || !data.is_object()) no_bucket("control and data aren't objects");
  const int64_t version = version_of(bucket);
  if (version == compressed_version) return check_bucket(options, expand(options.time_field, bucket));
  if (version != plain_version) no_bucket("control.version is neither 1 nor 2");
  const Element min = control.as_document()["min"], max = control.as_document()["max"];
  const Element first = min.is_object() ? min.as_document()[options.time_field] : Element();
  const Element last = max.is_object() ? max.as_document()[options.time_field] : Element();
  if (first.type() != Type::date || last.type() != Type::date) no_bucket("control.min and control.max have no time");
  bson::ObjectId expected = id.as_object_id();
  put_seconds(expected, id_seconds(first.as_date().ms));
  if (expected != id.as_object_id()) no_bucket("the time of _id isn't that of control.min");
  const Element times = data.as_document()[options.time_field];
  if (!times.is_object()) no_bucket("it has no times");
  const int64_t count = check_times(options, times.as_document(), first.as_date().ms, last.as_date().ms);
  for (const Element& column : data.as_document()) {
    check_column(column, count);
    if (!options.meta_field.empty() && column.name == options.meta_field) no_bucket("it has the meta field as a column");
  }
  check_names_differ(data.as_document());
}

namespace {

bool has_head(const SeriesOptions& options, DocumentView bucket) {
  const Element control = bucket["control"], data = bucket["data"];
  if (bucket["_id"].type() != Type::object_id || !control.is_object() || !data.is_object()) return false;
  const Element min = control.as_document()["min"], max = control.as_document()["max"];
  if (!min.is_object() || !max.is_object() || version_of(bucket) == 0) return false;
  return min.as_document()[options.time_field].type() == Type::date && data.as_document().has(options.time_field);
}

}  // namespace

bool has_bucket_shape(const SeriesOptions& options, DocumentView bucket) {
  if (!has_head(options, bucket) || version_of(bucket) != plain_version) return false;
  for (const Element& column : bucket["data"].as_document()) {
    if (!column.is_object()) return false;
  }
  return true;
}

int64_t measurement_count(const SeriesOptions& options, DocumentView bucket) {
  if (version_of(bucket) == compressed_version) return compressed_count(bucket);
  const Element data = bucket["data"];
  const Element times = data.is_object() ? data.as_document()[options.time_field] : Element();
  return times.is_object() ? static_cast<int64_t>(times.as_document().count()) : 0;
}

BucketReader::BucketReader(std::string_view time_field, std::string_view meta_field, DocumentView bucket)
    : time_field_(time_field), meta_field_(meta_field) {
  const Element control = bucket["control"];
  const Element version = control.is_object() ? control.as_document()["version"] : Element();
  if (version.is_number() && version_of(bucket) == 0) no_bucket("control.version is neither 1 nor 2");
  if (version_of(bucket) == compressed_version) {
    expanded_ = expand(time_field, bucket);
    bucket = expanded_;
  }
  const Element data = bucket["data"];
  const Element times = data.is_object() ? data.as_document()[time_field] : Element();
  if (!times.is_object()) no_bucket("it has no times");
  if (!meta_field.empty()) meta_ = bucket["meta"];
  time_ = times.as_document().begin();
  for (const Element& column : data.as_document()) {
    if (column.name == time_field || (!meta_field.empty() && column.name == meta_field)) continue;
    if (!column.is_object()) no_bucket("a column isn't an object");
    columns_.push_back({column.name, column.as_document().begin()});
  }
}

bool BucketReader::next() {
  const DocumentView::Iterator end;
  if (begun_) {
    for (Column& column : columns_) {
      if (column.at != end && column.at->name == now_.name) ++column.at;
    }
    ++time_;
  }
  begun_ = true;
  if (time_ == end) return false;
  now_ = *time_;
  return true;
}

void BucketReader::append(bson::Builder& out) {
  const DocumentView::Iterator end;
  out.append(time_field_, static_cast<const ValueView&>(now_));
  if (meta_.exists()) out.append(meta_field_, meta_);
  for (const Column& column : columns_) {
    if (column.at != end && column.at->name == now_.name) out.append(column.name, static_cast<const ValueView&>(*column.at));
  }
}

bson::Document BucketReader::measurement() {
  bson::Builder out;
  append(out);
  return out.done();
}

BucketBuilder::BucketBuilder(const SeriesOptions& options, const ValueView& meta, int64_t first_ms,
                             const bson::Collator* collator)
    : options_(options), collator_(collator), id_(bucket_id(first_ms)), meta_(meta), first_ms_(first_ms) {
  bytes_ = meta.bytes().size();
}

BucketBuilder::BucketBuilder(const SeriesOptions& options, DocumentView bucket, const bson::Collator* collator)
    : options_(options), collator_(collator), id_(bucket["_id"].as_object_id()), meta_(bucket["meta"]), bytes_(bucket.size()) {
  const DocumentView control = bucket["control"].as_document();
  const DocumentView min = control["min"].as_document(), max = control["max"].as_document();
  first_ms_ = min[options.time_field].as_date().ms;
  count_ = measurement_count(options, bucket);
  for (const Element& one : bucket["data"].as_document()) {
    Column& added = column(one.name);
    added.before = bson::Document(one.as_document());
    added.min = Value(min[one.name]);
    added.max = Value(max[one.name]);
  }
}

BucketBuilder BucketBuilder::emptied(const SeriesOptions& options, DocumentView bucket, const bson::Collator* collator) {
  if (!has_head(options, bucket)) no_bucket("it lacks a part");
  const Element first = bucket["control"].as_document()["min"].as_document()[options.time_field];
  BucketBuilder builder(options, bucket["meta"], first.as_date().ms, collator);
  builder.id_ = bucket["_id"].as_object_id();
  return builder;
}

BucketBuilder::Column& BucketBuilder::column(std::string_view name) {
  for (Column& one : columns_) {
    if (one.name == name) return one;
  }
  columns_.emplace_back();
  columns_.back().name = name;
  return columns_.back();
}

const BucketBuilder::Column* BucketBuilder::find(std::string_view name) const {
  for (const Column& one : columns_) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

bool BucketBuilder::fits(DocumentView measurement, int64_t time_ms) const {
  int64_t since = 0;
  if (time_ms < first_ms_ || __builtin_sub_overflow(time_ms, first_ms_, &since) || since >= options_.span_ms()) return false;
  if (count_ == 0) return true;
  if (count_ >= bucket_measurements_max) return false;
  if (bytes_ + measurement.size() > bucket_bytes_max && count_ >= bucket_measurements_min) return false;
  // The measurement may become the least and the greatest one, too.
  if (bytes_ + 3 * measurement.size() > bucket_bytes_max_large) return false;
  for (const Element& field : measurement) {
    if (field.name == options_.meta_field) continue;
    const Column* const known = find(field.name);
    if (known && known->min.exists() && !same_kind(known->min, field)) return false;
  }
  return true;
}

void BucketBuilder::add(DocumentView measurement) {
  for (const Element& field : measurement) {
    if (!options_.meta_field.empty() && field.name == options_.meta_field) continue;
    Column& target = column(field.name);
    target.added.emplace_back(static_cast<uint32_t>(count_), Value(field));
    target.min = target.min.exists() ? extreme(true, target.min, field, collator_) : Value(field);
    target.max = target.max.exists() ? extreme(false, target.max, field, collator_) : Value(field);
  }
  ++count_;
  bytes_ += measurement.size();
}

bson::Document BucketBuilder::document() const {
  bson::Builder out;
  out.append("_id", id_);
  {
    bson::Builder control = out.object("control");
    control.append("version", 1);
    {
      bson::Builder min = control.object("min");
      for (const Column& one : columns_) {
        if (one.name == options_.time_field)
          min.append(one.name, bson::Date{first_ms_});
        else
          min.append(one.name, one.min);
      }
    }
    bson::Builder max = control.object("max");
    for (const Column& one : columns_) max.append(one.name, one.max);
  }
  out.append("meta", meta_);
  {
    bson::Builder data = out.object("data");
    for (const Column& one : columns_) {
      bson::Builder values = data.object(one.name);
      values.append_all(one.before);
      for (const auto& [number, value] : one.added) values.append(std::to_string(number), value);
    }
  }
  return out.done();
}

}  // namespace server::query
