// This file checks the stored data of a collection against itself.
#pragma once

#include <functional>
#include <memory>

#include "storage/collections/collection.h"

namespace storage {

class Store;

// This function checks records, chains and indexes against each other in one snapshot; with `full` it also checks the files'
// structure. If the collection isn't kept in records, the function reads every document. It takes the schema lock itself, so the
// caller must not hold it. It calls `interrupted` between records, which may throw. It throws NamespaceNotFound when the
// collection was dropped.
ValidateReport validate_collection(Store& store, const std::shared_ptr<Collection>& collection, bool full,
                                   const std::function<void()>& interrupted = nullptr);

}  // namespace storage
