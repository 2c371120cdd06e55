// A query knows these of a document beside its fields, and {$meta: …} reads them.
//
// One document at a time goes through the stages of a query and of the pipeline over it, so its metadata have one place. A stage
// that finds documents writes them there as it advances; one that holds documents back keeps the metadata with each.
//
//   IXSCAN ── FETCH ── SORT ── $addFields {s: {$meta: "sortKey"}}
//                 │     │ keeps, gives back    │ reads
//                 └─> place <──────────────────┘
//
// Nothing is written that no expression has asked for while it was parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bson/value.h"

namespace server::query {

enum class MetaField : uint8_t { text_score, near_distance, near_point, record_id, index_key, sort_key };

struct DocumentMetadata {
  double text_score = 0;
  double near_distance = 0;
  bson::Value near_point;  // each of these is missing if the document has none
  bson::Value record_id;
  bson::Value index_key;
  bson::Value sort_key;  // an array

  size_t bytes() const;
};

class MetadataPlace {
 public:
  // The query finds such metadata.
  void offer(MetaField field) { offered_ |= bit(field); }
  bool offers(MetaField field) const { return (offered_ & bit(field)) != 0; }
  // Somebody reads them.
  void want(MetaField field) { wanted_ |= bit(field); }
  bool wants(MetaField field) const { return (wanted_ & bit(field)) != 0; }
  bool wanted() const { return wanted_ != 0; }

  DocumentMetadata current;

 private:
  static constexpr uint8_t bit(MetaField field) { return static_cast<uint8_t>(1U << static_cast<uint8_t>(field)); }

  uint8_t offered_ = 0;
  uint8_t wanted_ = 0;
};

// Returns the field that {$meta: name} means; nullopt for an unknown name.
std::optional<MetaField> meta_field(std::string_view name);
// The code of a query that wants metadata of which it has none.
inline constexpr int metadata_not_available = 40218;
// Throws it if `place` doesn't offer a field that no document would ever have: scores without $text, distances without $near.
// `place` may be nullptr: it offers nothing.
void check_offered(MetaField field, const MetadataPlace* place);

// Metadata as bytes, for sorts that spill.
bson::Document metadata_document(const DocumentMetadata& metadata);
DocumentMetadata read_metadata(bson::DocumentView document);

}  // namespace server::query
