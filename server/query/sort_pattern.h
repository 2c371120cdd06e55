// A sort pattern is a sort specification: {a: 1, "b.c": -1}.
//
// A document's key is one key string over all fields, so memcmp of keys is the
// order. If a path meets an array the smallest element counts (the largest for
// -1), over whole combinations if several fields lead through one array, as in a
// multikey index. A missing value sorts like null, [] before null.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bson/collator.h"
#include "bson/document.h"

namespace server::query {

struct SortField {
  std::string path;
  bool descending = false;
};

class SortPattern {
 public:
  SortPattern() = default;
  // Throws 15974, 15975 … in MongoDB's words. {$natural: 1} isn't one: see Query.
  static SortPattern parse(bson::DocumentView specification, bson::CollatorPtr collator = nullptr);

  // Throws BadValue (2) for parallel arrays.
  bson::Bytes key(bson::DocumentView document) const;

  const std::vector<SortField>& fields() const { return fields_; }
  bool empty() const { return fields_.empty(); }
  const bson::Collator* collator() const { return collator_.get(); }  // strings are sorted by it; nullptr: as bytes

 private:
  bson::Bytes array_key(bson::DocumentView document) const;

  std::vector<SortField> fields_;
  bson::CollatorPtr collator_;
};

}  // namespace server::query
