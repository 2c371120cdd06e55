#include "server/query/stages/geo_near.h"

#include <algorithm>
#include <optional>

#include "geo/index_options.h"
#include "server/query/document_metadata.h"
#include "server/query/reader.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/support.h"

namespace server::query {

using base::ErrorCode;
using bson::DocumentView;
using bson::Element;

namespace {

// Returns the field of the collection's one index of the kind; an empty text if there is no such index.
std::string only_field(const storage::Collection& collection, bool sphere) {
  std::string found;
  for (const auto& index : collection.indexes()) {
    const storage::IndexSpec& spec = index->spec();
    if (!spec.geo || spec.geo->sphere != sphere || !index->ready() || spec.hidden) continue;
    if (!found.empty()) {
      refuse(ErrorCode::index_not_found, std::string("There is more than one ") + (sphere ? "2dsphere" : "2d") + " index on " +
                                             collection.ns() + "; unsure which to use for $geoNear");
    }
    const auto field =
        std::find_if(spec.fields.begin(), spec.fields.end(), [](const storage::IndexField& one) { return one.located(); });
    found = field->path;
  }
  return found;
}

std::optional<double> distance(DocumentView options, std::string_view name) {
  const Element value = options.find(name);
  if (!value.exists()) return std::nullopt;
  if (!value.is_number()) refuse(ErrorCode::type_mismatch, std::string(name) + " must be a number");
  const double distance = value.to_double();
  if (!(distance >= 0)) refuse(ErrorCode::bad_value, std::string(name) + " must be nonnegative");
  return distance;
}

class GeoNear final : public SourceSpec, public Asking {
 public:
  GeoNear(const Element& specification, Scope& scope) : SourceSpec("$geoNear", specification) {
    const DocumentView options = specification.as_document();
    refuse_options(options);
    const Element near = options.find("near");
    if (!near.exists()) refuse(5860400, "$geoNear requires a 'near' argument");
    near_ = parse_expression(near, scope);
    const Element distance_field = options.find("distanceField");
    if (!distance_field.is_string()) refuse(16606, "$geoNear requires a 'distanceField' option as a String");
    output_->distance_field = path_of(distance_field);
    most_ = distance(options, "maxDistance");
    least_ = distance(options, "minDistance");
    output_->distance_multiplier = distance(options, "distanceMultiplier").value_or(1);
    if (const Element filter = options.find("query"); filter.exists()) {
      if (!filter.is_object()) refuse(ErrorCode::type_mismatch, "query must be an object");
      filter_ = bson::Document(filter.as_document());
    }
    spherical_ = options.find("spherical").truthy();
    if (const Element location = options.find("includeLocs"); location.exists()) {
      if (!location.is_string()) refuse(16607, "$geoNear requires that 'includeLocs' option is a String");
      output_->location_field = path_of(location);
    }
    if (const Element key = options.find("key"); key.exists()) {
      if (!key.is_string())
        refuse(ErrorCode::type_mismatch, "$geoNear parameter 'key' must be of type string but found type: " + type_of(key));
      if (key.as_string().empty()) refuse(ErrorCode::bad_value, "$geoNear parameter 'key' cannot be the empty string");
      key_ = path_of(key);
    }
  }

  Query query(PipelineContext& context) const override {
    const std::string ns = context.db + "." + context.collection;
    const auto collection = open_collection(*context.op, ns);
    if (!collection)
      refuse(ErrorCode::namespace_not_found, "$geoNear requires a geo index to run, but " + ns + " does not exist");
    Query query;
    query.filter = filter(key_.empty() ? indexed_field(*collection) : key_);
    query.hint = context.hint;
    query.let = context.let;
    query.collation = context.scope.collator();
    query.allow_disk_use = context.allow_disk_use;
    query.near_output = output_;
    if (context.metadata && context.metadata->wanted()) query.metadata = context.metadata;
    return query;
  }

  StagePtr start(StagePtr, PipelineContext& context) const override {
    return make_cursor_stage(context, context.collection, query(context));
  }

 private:
  static std::string path_of(const Element& path) {
    check_field_path(path.as_string());
    return std::string(path.as_string());
  }

  static void refuse_options(DocumentView options) {
    if (options.has("collation")) {
      refuse(40227,
             "$geoNear does not accept the 'collation' parameter. Instead, specify a collation for the entire aggregation "
             "command.");
    }
    if (options.has("limit")) refuse(50858, "$geoNear no longer supports the 'limit' parameter. Use a $limit stage instead.");
    if (options.has("num")) refuse(50857, "$geoNear no longer supports the 'num' parameter. Use a $limit stage instead.");
    if (options.has("start")) refuse(50856, "$geoNear no longer supports the 'start' argument.");
    // A document comes once anyway, so the old uniqueDocs says nothing.
    Arguments("$geoNear", options)
        .only({"near", "distanceField", "maxDistance", "minDistance", "distanceMultiplier", "query", "spherical", "includeLocs",
               "uniqueDocs", "key"});
  }

  static std::string indexed_field(const storage::Collection& collection) {
    std::string field = only_field(collection, false);
    if (field.empty()) field = only_field(collection, true);
    if (field.empty()) refuse(ErrorCode::index_not_found, "$geoNear requires a 2d or 2dsphere index, but none were found");
    return field;
  }

  // A variable is known when the pipeline runs, so the point is looked at then.
  bson::Document filter(const std::string& field) const {
    const bson::Value* near = near_->constant();
    if (!near) refuse(5860402, "$geoNear requires a constant near argument");
    if (!near->view().is_object() && !near->view().is_array())
      refuse(5860401, "$geoNear requires near argument to be a GeoJSON object or a legacy point(array)");
    bson::Builder out;
    {
      bson::ArrayBuilder all = out.array("$and");
      if (!filter_.empty()) all.append(filter_);
      bson::Builder predicate = all.object();
      bson::Builder operators = predicate.object(field);
      operators.append(spherical_ ? "$nearSphere" : "$near", *near);
      if (least_) operators.append("$minDistance", *least_);
      if (most_) operators.append("$maxDistance", *most_);
    }
    return out.done();
  }

  ExpressionPtr near_;
  std::optional<double> least_, most_;
  bson::Document filter_;
  bool spherical_ = false;
  std::string key_;  // empty: the collection's one index says it
  const std::shared_ptr<NearOutput> output_ = std::make_shared<NearOutput>();
};

}  // namespace

StageSpecPtr parse_geo_near(const Element& specification, PipelineContext& context) {
  if (!specification.is_object()) refuse(10065, "invalid parameter: expected an object ($geoNear)");
  return std::make_unique<GeoNear>(specification, context.scope);
}

}  // namespace server::query
