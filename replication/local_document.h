// Collections of one document in the database `local`: what a member knows about itself. They have no history.
#pragma once

#include <optional>

#include "bson/document.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace replication {

inline constexpr std::string_view set_config_ns = "local.system.replset";

std::optional<bson::Document> read_local(storage::Store& store, std::string_view ns);
// Replaces what is there. It lasts from the next checkpoint on, as all that a member of a set has in `local`.
void write_local(storage::Store& store, std::string_view ns, bson::DocumentView document);
// Within a transaction; the caller holds the collection's schema lock.
void put_local(storage::Transaction& transaction, storage::Collection& collection, bson::DocumentView document);

}  // namespace replication
