// What may be stored: checks and small repairs on the way in.
#pragma once

#include <optional>
#include <string_view>

#include "bson/document.h"

namespace server::write {

// A user's insert: generates a missing _id, moves it to the front, writes `now` where a top-level
// field is Timestamp(0, 0), unless `now` is nullopt: then such a field stays as it is. nullopt as the
// answer: the document is good as it stands. Throws BadValue (2) for one that is too large,
// InvalidIdField (53) …
std::optional<bson::Document> make_storable(bson::DocumentView document, std::optional<bson::Timestamp> now);

// The document with its _id first; nullopt when it is. There must be one.
std::optional<bson::Document> with_id_first(bson::DocumentView document);
// Top-level Timestamp(0, 0) outside _id means "now"; nullopt when there is none.
std::optional<bson::Document> with_timestamps(bson::DocumentView document, bson::Timestamp now);

// Throws InvalidIdField (53), DollarPrefixedFieldName (52). A DBRef is a good _id.
void check_id(const bson::ValueView& id);
// A field that an update has put into `document` at top level: throws DollarPrefixedFieldName (52) for one that begins
// with $, unless it is part of a DBRef, and InvalidDBRef (55) for a part out of its order: $ref, $id, $db.
void check_top_level_field(bson::DocumentView document, std::string_view name);
// Throws Overflow (15) when `value`, standing at `level`, nests too deep.
void check_depth(const bson::ValueView& value, int level);

}  // namespace server::write
