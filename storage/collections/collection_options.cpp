#include <algorithm>

#include "bson/builder.h"
#include "bson/collation.h"
#include "storage/collections/clustered.h"
#include "storage/collections/collection.h"
#include "storage/collections/option_changes.h"

namespace storage {

void read_option_document(CollectionOptions& options) {
  options.dedup = read_dedup_options(options.document);
  const auto images = options.document["changeStreamPreAndPostImages"];
  const auto collation = options.document["collation"];
  options.collator = collation.is_object() ? bson::collator_of(collation.as_document()) : nullptr;
  options.pre_images = images.is_object() && images.as_document()["enabled"].truthy();
}

void alter_option_document(CollectionOptions& options, bson::DocumentView changes) {
  const bson::Element size = changes[capped_size_change], max = changes[capped_max_change];
  bson::Builder document;
  for (const auto& field : options.document) {
    const bool changed = field.name == "size"  ? size.exists()
                         : field.name == "max" ? max.exists()
                                               : changes.find(field.name).exists();
    if (!changed) document.append_element(field);
  }
  for (const auto& field : changes) {
    if (field.name == capped_size_change) {
      document.append("size", options.capped_bytes = field.to_int64());
    } else if (field.name == capped_max_change) {
      options.capped_records = std::max<int64_t>(0, field.to_int64());
      if (options.capped_records > 0) document.append("max", options.capped_records);
    } else if (field.name != expire_after_seconds_option || !field.is_string()) {
      document.append_element(field);
    }
  }
  options.document = document.done();
  read_option_document(options);
}

}  // namespace storage
