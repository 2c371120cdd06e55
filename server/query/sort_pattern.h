// A sort pattern is a sort specification: {a: 1, "b.c": -1}.
//
// A document's key is one key string over all fields, so memcmp of keys is the
// order. If a path meets an array the smallest element counts (the largest for
// -1), over whole combinations if several fields lead through one array, as in a
// multikey index. A missing value sorts like null, [] before null.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bson/collator.h"
#include "bson/document.h"

namespace server::query {

struct SortField {
  std::string path;
  bool descending = false;
  bool text_score = false;  // {$meta: "textScore"}: not the field, but the document's score
};

class SortPattern {
 public:
  SortPattern() = default;
  // Throws 15974, 15975 … in MongoDB's words. {$natural: 1} isn't one: see Query.
  // `text_score`: the score of the document whose key is made next; nullptr: there is none, and $meta is refused (40218).
  static SortPattern parse(bson::DocumentView specification, bson::CollatorPtr collator = nullptr,
                           std::shared_ptr<double> text_score = nullptr);

  // Throws BadValue (2) for parallel arrays.
  bson::Bytes key(bson::DocumentView document) const;

  const std::vector<SortField>& fields() const { return fields_; }
  bool empty() const { return fields_.empty(); }
  // The score that keys read, if a field is one; else nullptr.
  const std::shared_ptr<double>& text_score() const { return text_score_; }
  const bson::Collator* collator() const { return collator_.get(); }  // strings are sorted by it; nullptr: as bytes

 private:
  bson::Bytes array_key(bson::DocumentView document) const;

  std::vector<SortField> fields_;
  bson::CollatorPtr collator_;
  std::shared_ptr<double> text_score_;
};

}  // namespace server::query
