// $fill sets fields that have no value, from their neighbours or to a given value. It is a shorthand for $setWindowFields and
// $addFields.
#include "server/query/place_field.h"
#include "server/query/sort_pattern.h"
#include "server/query/stages/expanded.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

using bson::Document;
using bson::Element;
using bson::Value;

StageSpecPtr parse_fill(const Element& specification, PipelineContext& context) {
  const Arguments arguments = arguments_of(specification);
  arguments.only({"partitionBy", "partitionByFields", "sortBy", "output"});
  const bson::DocumentView output = arguments.required_object("output");
  if (output.empty()) refuse(6050203, "The output field in '$fill' must contain an object with at least one element");

  bson::Builder windows, given;
  for (const Element& field : output) {
    if (!field.is_object()) refuse(6050200, "Each fill output specification must be an object with exactly one field");
    const Arguments how("$fill", field.as_document());
    how.only({"method", "value"});
    const std::string path = "$" + std::string(field.name);
    const auto method = how.string("method");
    const Element value = field.as_document().find("value");
    if (!method == !value.exists())
      refuse(6050201, "Each fill output specification must have exactly one of 'method' or 'value' fields, not both");
    if (method) {
      if (*method != "locf" && *method != "linear") refuse(6050202, "Method must be either locf or linear");
      windows.append(field.name, wrap(*method == "locf" ? "$locf" : "$linearFill", Value(path)));
    }
    if (value.exists()) {
      bson::Builder filled = given.object(field.name);
      bson::ArrayBuilder choice = filled.array("$ifNull");
      choice.append(path);
      choice.append(static_cast<const bson::ValueView&>(value));
    }
  }

  Value partition;
  const Element by = arguments.any("partitionBy");
  const auto fields = arguments.array("partitionByFields");
  if (by.exists() && fields) refuse(6050204, "Maximum one of 'partitionBy' and 'partitionByFields can be specified in '$fill'");
  if (by.exists() && !by.is_string() && !by.is_object()) {
    refuse(base::ErrorCode::type_mismatch,
           "BSON field '$fill.partitionBy' is the wrong type '" + type_of(by) + "', expected types '[string, object]'");
  }
  if (by.exists()) partition = Value(by);
  if (fields) partition = Value(own_fields(paths_in(arguments, "partitionByFields")).view());
  const auto sort = arguments.object("sortBy");
  // Given values need neither, but both must be valid.
  if (partition.exists()) parse_expression(partition, context.scope);
  if (sort) SortPattern::parse(*sort);

  std::vector<Document> stages;
  const Document window_output = windows.done(), given_output = given.done();
  if (!window_output.view().empty()) {
    bson::Builder window;
    if (partition.exists()) window.append("partitionBy", partition);
    if (sort) window.append("sortBy", *sort);
    window.append("output", window_output);
    stages.push_back(wrap("$setWindowFields", Value(window.done())));
  }
  if (!given_output.view().empty()) stages.push_back(wrap("$addFields", Value(given_output.view())));
  return expand(specification, stages, context);
}

}  // namespace server::query
