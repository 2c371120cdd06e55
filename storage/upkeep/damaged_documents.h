// This file finds out which documents of a collection can't be read, and what their `_id`s are.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "bson/document.h"
#include "storage/engine/record_id.h"

namespace storage {

class Engine;
class StoredCollection;

struct DamagedDocument {
  RecordId record = 0;
  bson::Document id;  // {_id: …}; it is empty if the index doesn't know the record, or has a collation
  std::string why;
  bool invalid = false;  // the content is what was written, but it is no document
  base::Bytes key = {};  // under a collation, what the index has in place of the `_id`
};

// Returns at most `count_max` of them, in the order of their records. The index on `_id` tells of documents whose rows can't be
// reached at all; it is asked if some can't be read, or if rows may be gone (`rows_gone`), as after a repair that didn't get to
// its end. The caller holds the collection's schema lock exclusively, or accepts that others write meanwhile.
std::vector<DamagedDocument> damaged_documents(Engine& engine, StoredCollection& collection, size_t count_max,
                                               const std::function<void()>& interrupted, bool rows_gone = false);

// Returns "document {_id: 5} (record 17)".
std::string name_of(const DamagedDocument& document);

}  // namespace storage
