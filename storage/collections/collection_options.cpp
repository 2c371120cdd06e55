#include "storage/collections/collection.h"

namespace storage {

void read_option_document(CollectionOptions& options) {
  options.dedup = read_dedup_options(options.document);
  const auto images = options.document["changeStreamPreAndPostImages"];
  options.pre_images = images.is_object() && images.as_document()["enabled"].truthy();
}

}  // namespace storage
