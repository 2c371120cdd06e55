#include "server/query/exec/near.h"

#include <algorithm>
#include <cmath>

#include "geo/cells.h"
#include "geo/index_options.h"
#include "server/core/text.h"
#include "server/query/fitting_int.h"
#include "server/query/match/path.h"
#include "server/query/place_field.h"
#include "server/query/plan/locations.h"

namespace server::query::exec {

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double first_width_m = 100;
constexpr size_t bytes_per_record = 32;   // of those seen
constexpr int64_t many = 300, few = 100;  // of a ring's records: the next one is narrower, or wider

// Returns the greatest distance between two places.
double reach(const match::Near& near, const geo::IndexOptions& options) {
  if (near.plane == geo::Plane::sphere) return pi;
  const double x = std::max(std::abs(near.center.x - options.min), std::abs(near.center.x - options.max));
  const double y = std::max(std::abs(near.center.y - options.min), std::abs(near.center.y - options.max));
  return std::hypot(x, y);
}

double first_width(const match::Near& near, const geo::IndexOptions& options) {
  if (near.plane == geo::Plane::sphere) return first_width_m / geo::earth_radius_m;
  return (options.max - options.min) / std::ldexp(1.0, std::min(options.bits, 20));
}

geo::CellRanges disc(const match::Near& near, double radius, const geo::IndexOptions& options) {
  if (options.sphere) return geo::sphere_ranges(near.center, radius, options);
  const geo::Box everything{{options.min, options.min}, {options.max, options.max}};
  if (near.plane == geo::Plane::flat) {
    const geo::Point c = near.center;
    return geo::flat_ranges({{c.x - radius, c.y - radius}, {c.x + radius, c.y + radius}}, options);
  }
  // On the sphere a circle of that many degrees may wrap around the plane's edges.
  const double degrees = radius * 180 / pi + 1e-9;
  const geo::Point c = near.center;
  if (c.y + degrees >= 90 || c.y - degrees <= -90) return geo::flat_ranges(everything, options);
  const double aside = std::asin(std::min(1.0, std::sin(degrees * pi / 180) / std::cos(c.y * pi / 180))) * 180 / pi + 1e-9;
  if (c.x + aside >= 180 || c.x - aside <= -180) return geo::flat_ranges(everything, options);
  return geo::flat_ranges({{c.x - aside, c.y - degrees}, {c.x + aside, c.y + degrees}}, options);
}

}  // namespace

GeoNear::GeoNear(CollectionPtr collection, const plan::Access& access, std::shared_ptr<const NearOutput> output,
                 MetadataPlace* metadata, Allowance& allowance)
    : Stage(access.index->spec().geo->sphere ? "GEO_NEAR_2DSPHERE" : "GEO_NEAR_2D"),
      collection_(std::move(collection)),
      index_(access.index),
      fields_(access.fields),
      field_(access.near_field),
      path_(index_->spec().fields[field_].path),
      near_(static_cast<const match::NearNode&>(*access.near).near()),
      least_(near_.least / near_.scale()),
      most_(near_.most / near_.scale()),
      filter_(access.residual),
      output_(std::move(output)),
      metadata_(metadata),
      allowance_(allowance),
      held_(allowance.memory()) {}

// Goes on to the next ring. Returns false after the last.
bool GeoNear::widen() {
  const geo::IndexOptions& options = *index_->spec().geo;
  const double end = std::min(most_, reach(near_, options));
  if (started_ && outer_ >= end) return false;
  if (!started_) {
    width_ = first_width(near_, options);
    outer_ = std::min(end, least_);
  } else {
    if (found_in_ring_ < few) width_ *= 2;
    if (found_in_ring_ > many) width_ /= 2;
  }
  started_ = true;
  ++rings_;
  found_in_ring_ = 0;
  outer_ = outer_ + width_ < end ? outer_ + width_ : end;
  const plan::Intervals wanted = plan::intervals_of(disc(near_, outer_, options));
  std::vector<plan::Intervals> fields = fields_;
  fields[field_] = plan::intersect(wanted, plan::complement(scanned_));
  scanned_ = plan::unite(std::move(scanned_), wanted);
  ranges_ = plan::key_ranges(*index_, fields, allowance_).ranges;
  range_ = 0;
  return true;
}

std::optional<GeoNear::Found> GeoNear::measure(const bson::Document& document) const {
  std::optional<Found> nearest;
  const bool sphere_index = index_->spec().geo->sphere;
  const match::Path path(path_);
  path.walk(document, match::LeafArray::expand, [&](const bson::ValueView& value, std::string_view) {
    const auto location = geo::Geometry::try_parse(value);
    if (!location || location->strict()) return false;
    if (near_.plane == geo::Plane::sphere ? !location->spherical() : !location->is_point()) return false;
    if (!sphere_index && !location->is_point()) return false;
    const double distance = location->distance(near_.center, near_.plane);
    if (!nearest || distance < nearest->distance) {
      nearest.emplace();
      nearest->distance = distance;
      if (wants_location()) nearest->location = bson::Value(value);
    }
    return false;
  });
  if (!nearest || nearest->distance < least_ || nearest->distance > most_) return std::nullopt;
  return nearest;
}

// Looks at the record that the cursor found.
void GeoNear::take(storage::Transaction& transaction) {
  ++examined_;
  if (!seen_.insert(cursor_->record()).second) return;
  held_.add(bytes_per_record);
  auto document = collection_->find(transaction, cursor_->record());
  if (!document) return;
  ++fetched_;
  if (!filter_.matches(*document)) return;
  auto found = measure(*document);
  if (!found) return;
  found->record = cursor_->record();
  found->document = *std::move(document);
  if (found->distance <= outer_) ++found_in_ring_;
  held_.add(found->bytes());
  found_.push(*std::move(found));
}

bool GeoNear::wants_location() const {
  return (output_ && !output_->location_field.empty()) || (metadata_ && metadata_->wants(MetaField::near_point));
}

void GeoNear::put_metadata() {
  if (!metadata_) return;
  metadata_->current.near_distance = current_.distance * near_.scale();
  metadata_->current.near_point = current_.location;
}

// Puts distance and location into the document that is returned.
void GeoNear::put_output() {
  if (!output_) return;
  if (!output_->distance_field.empty()) {
    const bson::Value distance(current_.distance * near_.scale() * output_->distance_multiplier);
    current_.document = with_field_at(current_.document, output_->distance_field, distance);
  }
  if (!output_->location_field.empty())
    current_.document = with_field_at(current_.document, output_->location_field, current_.location);
}

Step GeoNear::do_work(storage::Transaction& transaction) {
  if (!cursor_) {
    cursor_ = collection_->scan(transaction, *index_, storage::Direction::forward);
    index_->count_access();
  }
  if (in_range_) {
    if (cursor_->next()) {
      take(transaction);
    } else {
      in_range_ = false;
    }
    return Step::pending;
  }
  if (range_ < ranges_.size()) {
    cursor_->seek(ranges_[range_++]);
    in_range_ = true;
    return Step::pending;
  }
  if (started_ && !found_.empty() && found_.top().distance <= outer_) {
    current_ = found_.top();
    found_.pop();
    held_.set(held_.bytes() - current_.bytes());
    put_metadata();
    put_output();
    return Step::advanced;
  }
  return widen() ? Step::pending : Step::end;
}

void GeoNear::do_save() {
  if (cursor_) cursor_->save();
}

void GeoNear::do_restore(storage::Transaction& transaction) {
  check_alive(*collection_, *index_);
  if (!cursor_) return;
  // Between ranges there is no position to restore.
  if (in_range_) {
    cursor_->restore(transaction);
  } else {
    cursor_ = collection_->scan(transaction, *index_, storage::Direction::forward);
  }
}

void GeoNear::count(ExecutionStats& total) const {
  total.keys_examined += examined_;
  total.docs_examined += fetched_;
}

std::string GeoNear::summary() const {
  return name() + " " + show(index_->spec().key);
}

void GeoNear::append_details(bson::Builder& out) const {
  out.append("keyPattern", index_->spec().key).append("indexName", index_->spec().name).append("indexVersion", 2);
}

void GeoNear::append_figures(bson::Builder& out) const {
  out.append("keysExamined", fitting_int(examined_)).append("docsExamined", fitting_int(fetched_));
  out.append("searchIntervals", fitting_int(rings_));
}

}  // namespace server::query::exec
