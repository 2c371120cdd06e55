#include "storage/collections/state_before.h"

#include "bson/builder.h"
#include "storage/collections/catalog_rows.h"

namespace storage {

bson::Document state_before(const CollectionEntry& entry, bson::DocumentView index_options) {
  bson::Builder out;
  {
    bson::Builder options = out.object("collectionOptions_old");
    options.append("uuid", bson::Binary{4, entry.uuid}).append_all(entry.options.document);
  }
  if (!index_options.empty()) out.append("indexOptions_old", index_options);
  return out.done();
}

}  // namespace storage
