// Many commands about collections share these options.
#pragma once

#include <optional>
#include <string_view>

#include "bson/document.h"
#include "storage/indexes/index.h"

namespace server {

class Arguments;
class OperationContext;

// Throws BadValue unless the index on _id has the collation of its collection; nullptr: none.
void check_id_collation(const storage::IndexSpec& id_index, const bson::Collator* collator);

// Throws InvalidUUID (207) for a value that isn't a UUID; a missing one is fine.
void check_uuid(const bson::ValueView& uuid);
// Checks `collectionUUID`: throws CollectionUUIDMismatch (361) if the collection has another one or doesn't exist; the error
// names the collection of the database that has it. Throws InvalidUUID as above.
void check_collection_uuid(OperationContext& op, const bson::ValueView& uuid, std::string_view ns);

// Returns `dedup: {enabled, profile, key}` as listCollections shows it; nullopt: it is missing. Throws TypeMismatch, BadValue,
// and 40415 for an unknown field.
std::optional<bson::Document> parse_dedup_options(const Arguments& arguments);

// Does the same for `commits: {tree, buckets}` (versions/branch/tree_kind.h).
std::optional<bson::Document> parse_commits_options(const Arguments& arguments);

// Returns validator, validationLevel and validationAction as they were given, and are shown. Throws for rules that no collection
// can have.
bson::Document parse_validation_options(const OperationContext& op, const Arguments& arguments);
// Does the same for `changeStreamPreAndPostImages: {enabled}`, which a standalone server refuses (InvalidOptions).
inline constexpr std::string_view pre_images_option = "changeStreamPreAndPostImages";
std::optional<bson::Document> parse_image_options(const OperationContext& op, const Arguments& arguments);

}  // namespace server
