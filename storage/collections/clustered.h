// A clustered collection is one whose plain order is that of its documents' _id. Its records lie as those of any other
// collection do, and its index on _id gives the order. That index has the name and the description that `create` was given, and
// nobody can drop it.
#pragma once

#include "storage/collections/collection.h"

namespace storage {

inline constexpr std::string_view clustered_index_option = "clusteredIndex";
inline constexpr std::string_view expire_after_seconds_option = "expireAfterSeconds";

inline bool is_clustered(const Collection& collection) {
  return collection.options().document[clustered_index_option].exists();
}
// Returns whether this is the index on _id of a clustered collection.
inline bool is_clustered_index(const Collection& collection, const Index& index) {
  return index.is_id() && is_clustered(collection);
}

// Returns the description of an index as listIndexes shows it: the clustered index has the collection's expireAfterSeconds.
bson::Document shown_index(const Collection& collection, const Index& index);

// Returns the specification of the index on _id of a collection with these options.
bson::Document id_index_spec(const CollectionOptions& options);

}  // namespace storage
