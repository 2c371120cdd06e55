// A sort pattern is a sort specification: {a: 1, "b.c": -1}.
//
// A document's key is one key string over all fields, so memcmp of keys is the
// order. If a path meets an array the smallest element counts (the largest for
// -1), over whole combinations if several fields lead through one array, as in a
// multikey index. A missing value sorts like null, [] before null.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bson/collator.h"
#include "bson/document.h"
#include "bson/value.h"
#include "server/query/document_metadata.h"

namespace server {
class Allowance;
}

namespace server::query {

struct SortField {
  std::string path;
  bool descending = false;
  // {$meta: "textScore"}, {$meta: "geoNearDistance"}: not the field, but this of the document's metadata.
  std::optional<MetaField> meta = std::nullopt;
};

class SortPattern {
 public:
  SortPattern() = default;
  // Throws 15974, 15975 … in MongoDB's words. {$natural: 1} isn't one: see Query.
  // `metadata`: those of the document whose key is made next, which {$meta: …} reads; nullptr: there are none.
  static SortPattern parse(bson::DocumentView specification, bson::CollatorPtr collator = nullptr,
                           const std::shared_ptr<MetadataPlace>& metadata = nullptr);

  // Throws BadValue (2) for parallel arrays. A document with arrays may have many keys to choose from: they are work for
  // `allowance`, if there is one.
  bson::Bytes key(bson::DocumentView document, Allowance* allowance = nullptr) const;

  // Returns the values in that key as an array, which {$meta: "sortKey"} shows; strings as the collation's sort keys.
  bson::Value values(bson::DocumentView document, Allowance* allowance = nullptr) const;

  const std::vector<SortField>& fields() const { return fields_; }
  bool empty() const { return fields_.empty(); }
  const bson::Collator* collator() const { return collator_.get(); }  // strings are sorted by it; nullptr: as bytes

 private:
  // The same for a document with arrays on the paths. `values` gets what is in the key; nullptr: it isn't wanted.
  bson::Bytes array_key(bson::DocumentView document, bson::Document* values, Allowance* allowance) const;
  bson::Value meta(const SortField& field) const;
  bson::Document shown(std::span<const bson::ValueView> values) const;

  std::vector<SortField> fields_;
  bson::CollatorPtr collator_;
  std::shared_ptr<MetadataPlace> metadata_;  // only if a field reads them
};

}  // namespace server::query
