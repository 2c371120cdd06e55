// Cluster parameters are settings of the whole set: setClusterParameter sets them, and every member has them by the log.
//
//   config.clusterParameters   {_id: "changeStreamOptions", preAndPostImages: {expireAfterSeconds: 100}, clusterParameterTime}
#pragma once

#include <optional>

#include "bson/document.h"

namespace storage {
class Store;
}

namespace server {

inline constexpr char cluster_parameters_ns[] = "config.clusterParameters";
inline constexpr char change_stream_options[] = "changeStreamOptions";

// Returns the parameter as getClusterParameter shows it. Throws NoSuchKey for an unknown name.
bson::Document cluster_parameter(storage::Store& store, std::string_view name);
// Returns the document to store for a parameter that is set at this time. Throws NoSuchKey, TypeMismatch, BadValue.
bson::Document new_cluster_parameter(const bson::Element& parameter, bson::Timestamp time);

// Returns how long pre-images are kept; nullopt: as long as the log has their changes.
std::optional<int64_t> pre_image_seconds(storage::Store& store);

}  // namespace server
