#include "storage/collections/clustered.h"

#include "bson/builder.h"

namespace storage {

bson::Document shown_index(const Collection& collection, const Index& index) {
  const bson::Document& spec = index.spec().document;
  const bson::Element seconds = collection.options().document[expire_after_seconds_option];
  if (!seconds.exists() || !is_clustered_index(collection, index)) return spec;
  bson::Builder out;
  for (const bson::Element& field : spec) {
    if (field.name == "clustered") out.append(expire_after_seconds_option, seconds);
    out.append_element(field);
  }
  return out.done();
}

bson::Document id_index_spec(const CollectionOptions& options) {
  const bson::Element clustered = options.document[clustered_index_option];
  bson::Builder spec;
  {
    bson::Builder key = spec.object("key");
    key.append("_id", 1);
  }
  if (clustered.is_object()) {
    spec.append("name", clustered.as_document()["name"]).append("unique", true).append("clustered", true);
  } else {
    spec.append("name", "_id_");
  }
  return parse_index_spec(with_default_collation(spec.done(), options.collator.get())).document;
}

}  // namespace storage
