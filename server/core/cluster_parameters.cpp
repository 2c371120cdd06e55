#include "server/core/cluster_parameters.h"

#include "base/error.h"
#include "bson/builder.h"
#include "bson/value.h"
#include "server/core/arguments.h"
#include "storage/store.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr std::string_view off = "off";

void check_name(std::string_view name) {
  if (name != change_stream_options)
    throw OperationError(ErrorCode::no_such_key, "Unknown server parameter: " + std::string(name));
}

std::optional<bson::Document> stored(storage::Store& store, std::string_view name) {
  return storage::find_document(store, cluster_parameters_ns, bson::Value(name));
}

}  // namespace

bson::Document cluster_parameter(storage::Store& store, std::string_view name) {
  check_name(name);
  if (auto found = stored(store, name)) return std::move(*found);
  bson::Builder out;
  out.append("_id", name);
  {
    bson::Builder images = out.object("preAndPostImages");
    images.append("expireAfterSeconds", off);
  }
  out.append("clusterParameterTime", bson::Timestamp{});
  return out.done();
}

bson::Document new_cluster_parameter(const bson::Element& parameter, bson::Timestamp time) {
  check_name(parameter.name);
  if (!parameter.is_object()) {
    throw OperationError(ErrorCode::type_mismatch,
                         "Cluster parameter value must be an object, found " + std::string(bson::type_name(parameter.type())));
  }
  const Arguments arguments(change_stream_options, parameter.as_document());
  arguments.only({"preAndPostImages"});
  const Arguments images("changeStreamOptions.preAndPostImages", arguments.required_object("preAndPostImages"));
  images.only({"expireAfterSeconds"});
  const auto seconds = images.any("expireAfterSeconds");
  if (seconds.is_string() ? seconds.as_string() != off : !seconds.is_number())
    throw OperationError(ErrorCode::bad_value, "Expected a number or 'off' for the 'expireAfterSeconds' parameter");
  if (seconds.is_number() && seconds.to_int64() <= 0) {
    throw OperationError(ErrorCode::bad_value, "Expected a positive integer for the 'expireAfterSeconds' parameter, but got " +
                                                   std::to_string(seconds.to_int64()));
  }
  bson::Builder out;
  out.append("_id", parameter.name);
  {
    bson::Builder shown = out.object("preAndPostImages");
    if (seconds.is_string())
      shown.append("expireAfterSeconds", off);
    else
      shown.append("expireAfterSeconds", seconds.to_int64());
  }
  out.append("clusterParameterTime", time);
  return out.done();
}

std::optional<int64_t> pre_image_seconds(storage::Store& store) {
  const auto document = stored(store, change_stream_options);
  if (!document) return std::nullopt;
  const auto images = document->view()["preAndPostImages"];
  const auto seconds = images.is_object() ? images.as_document()["expireAfterSeconds"] : bson::Element();
  return seconds.is_number() ? std::optional(seconds.to_int64()) : std::nullopt;
}

}  // namespace server
