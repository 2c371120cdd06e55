#include "storage/indexes/shown_id.h"

#include "bson/builder.h"
#include "bson/json.h"

namespace storage {

std::string shown_id(bson::DocumentView document) {
  constexpr size_t shown_bytes_max = 1000;
  const bson::Element id = document.find("_id");
  bson::Builder shown;
  if (id.exists() && id.bytes().size() <= shown_bytes_max) shown.append_element(id);
  return bson::to_shell(shown.done());
}

}  // namespace storage
