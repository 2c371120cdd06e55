#include "server/query/document_metadata.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/error.h"
#include "bson/builder.h"

namespace server::query {

namespace {

struct Named {
  std::string_view name;
  MetaField field;
};

constexpr std::array<Named, 6> names{{{"textScore", MetaField::text_score},
                                      {"geoNearDistance", MetaField::near_distance},
                                      {"geoNearPoint", MetaField::near_point},
                                      {"recordId", MetaField::record_id},
                                      {"indexKey", MetaField::index_key},
                                      {"sortKey", MetaField::sort_key}}};

[[noreturn]] void unavailable(const char* what) {
  throw base::OperationError(metadata_not_available,
                             std::string("query requires ") + what + " metadata, but it is not available");
}

}  // namespace

size_t DocumentMetadata::bytes() const {
  size_t bytes = sizeof(DocumentMetadata);
  for (const bson::Value* value : {&near_point, &record_id, &index_key, &sort_key}) bytes += value->view().bytes().size();
  return bytes;
}

std::optional<MetaField> meta_field(std::string_view name) {
  const auto found = std::find_if(names.begin(), names.end(), [&](const Named& one) { return one.name == name; });
  return found == names.end() ? std::nullopt : std::optional(found->field);
}

void check_offered(MetaField field, const MetadataPlace* place) {
  if (place && place->offers(field)) return;
  switch (field) {
    case MetaField::text_score: unavailable("text score");
    case MetaField::near_distance: unavailable("$geoNear distance");
    case MetaField::near_point: unavailable("$geoNear point");
    case MetaField::record_id:
    case MetaField::index_key:
    case MetaField::sort_key: break;  // a document without them shows nothing
  }
}

bson::Document metadata_document(const DocumentMetadata& metadata) {
  bson::Builder out;
  out.append("score", metadata.text_score).append("distance", metadata.near_distance);
  const auto add = [&](std::string_view name, const bson::Value& value) {
    if (value.exists()) out.append(name, value);
  };
  add("point", metadata.near_point);
  add("record", metadata.record_id);
  add("index", metadata.index_key);
  add("sort", metadata.sort_key);
  return out.done();
}

DocumentMetadata read_metadata(bson::DocumentView document) {
  DocumentMetadata metadata;
  metadata.text_score = document.find("score").to_double();
  metadata.near_distance = document.find("distance").to_double();
  const auto value = [&](std::string_view name) {
    const bson::Element element = document.find(name);
    return element.exists() ? bson::Value(element) : bson::Value();
  };
  metadata.near_point = value("point");
  metadata.record_id = value("record");
  metadata.index_key = value("index");
  metadata.sort_key = value("sort");
  return metadata;
}

}  // namespace server::query
