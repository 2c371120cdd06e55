// Checks what is stored of a collection against itself.
#pragma once

#include <functional>
#include <memory>

#include "storage/collections/collection.h"

namespace storage {

class Store;

// Records, chains and indexes against each other, in one snapshot; `full`: the files' structure, too. Of a collection that is
// kept elsewhere every document is read. Takes the schema lock itself, alone: the caller holds none. `interrupted` is asked
// between records and may throw. Throws NamespaceNotFound where the collection was dropped.
ValidateReport validate_collection(Store& store, const std::shared_ptr<Collection>& collection, bool full,
                                   const std::function<void()>& interrupted = nullptr);

}  // namespace storage
