// These functions check documents before they are stored, and repair small things.
#pragma once

#include <optional>
#include <string_view>

#include "bson/document.h"

namespace server::write {

// Prepares a user's insert: generates a missing _id, moves it to the front, and writes `now` into top-level fields that are
// Timestamp(0, 0), unless `now` is nullopt. Returns nullopt if the document can stay as it is. Throws BadValue (2) for one that
// is too large, InvalidIdField (53) …
std::optional<bson::Document> make_storable(bson::DocumentView document, std::optional<bson::Timestamp> now);

// Returns the document with its _id first; nullopt if it is first already. There must be one.
std::optional<bson::Document> with_id_first(bson::DocumentView document);
// Returns the document with `now` in place of each top-level Timestamp(0, 0) outside _id; nullopt if there is none.
std::optional<bson::Document> with_timestamps(bson::DocumentView document, bson::Timestamp now);

// Throws InvalidIdField (53), DollarPrefixedFieldName (52). A DBRef is a good _id.
void check_id(const bson::ValueView& id);
// Checks a field that an update has put into `document` at top level: throws DollarPrefixedFieldName (52) for one that begins
// with $, unless it is part of a DBRef, and InvalidDBRef (55) for a part out of order: $ref, $id, $db.
void check_top_level_field(bson::DocumentView document, std::string_view name);
// Throws Overflow (15) when `value`, standing at `level`, nests too deep.
void check_depth(const bson::ValueView& value, int level);

}  // namespace server::write
