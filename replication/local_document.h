// Collections of one document in the database `local`: what a member knows about itself. They have no history.
#pragma once

#include <optional>

#include "bson/document.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace replication {

inline constexpr std::string_view set_config_ns = "local.system.replset";

std::optional<bson::Document> read_local(storage::Store& store, std::string_view ns);
// Returns whether the directory has the configuration of a set, even one that can't be read.
bool was_member(storage::Store& store);

// A LocalDocument is one without which a member can't start, so there are two of it: in its collection, and in a table of copies.
//
//   local-documents   ns -> the document
class LocalDocument {
 public:
  // Makes the one anew that is damaged, or the copy that an older version of the program didn't write. Throws
  // DataCorruptionDetected if both are damaged. Must not be called inside a transaction.
  LocalDocument(storage::Store& store, std::string_view ns);

  std::optional<bson::Document> read() const { return read_local(store_, ns_); }
  // Replaces what is there. It lasts from the next checkpoint on, as all that a member of a set has in `local`.
  void write(bson::DocumentView document) const;
  // Within a transaction; the caller holds the collection's schema lock.
  void put(storage::Transaction& transaction, storage::Collection& collection, bson::DocumentView document) const;

 private:
  std::optional<bson::Document> copied() const;

  storage::Store& store_;
  const std::string ns_;
  storage::Table copies_;
};

}  // namespace replication
