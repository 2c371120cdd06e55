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

// Throws InvalidIdField (53), DollarPrefixedFieldName (52).
void check_id(const bson::ValueView& id);
// Throws DollarPrefixedFieldName (52) for a name updates may not give at top level.
void check_top_level_name(std::string_view name);
// Throws Overflow (15) when `value`, standing at `level`, nests too deep.
void check_depth(const bson::ValueView& value, int level);

}  // namespace server::write
