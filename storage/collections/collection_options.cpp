#include "bson/collation.h"
#include "storage/collections/collection.h"

namespace storage {

void read_option_document(CollectionOptions& options) {
  options.dedup = read_dedup_options(options.document);
  const auto images = options.document["changeStreamPreAndPostImages"];
  const auto collation = options.document["collation"];
  options.collator = collation.is_object() ? bson::collator_of(collation.as_document()) : nullptr;
  options.pre_images = images.is_object() && images.as_document()["enabled"].truthy();
}

}  // namespace storage
