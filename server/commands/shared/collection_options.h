// Options that many commands about collections share.
#pragma once

#include <optional>
#include <string_view>

#include "bson/document.h"
#include "server/core/collation.h"

namespace server {

class Arguments;
class OperationContext;

// Throws InvalidUUID (207) for what is there and no UUID.
void check_uuid(const bson::ValueView& uuid);
// `collectionUUID`: throws CollectionUUIDMismatch (361) when the collection has another one, or isn't there; the error tells
// which collection of the database has it. InvalidUUID as above.
void check_collection_uuid(OperationContext& op, const bson::ValueView& uuid, std::string_view ns);

// `dedup: {enabled, profile, key}` as listCollections shows it; nullopt: not given. Throws TypeMismatch, BadValue, and
// 40415 for what isn't a field of it.
std::optional<bson::Document> parse_dedup_options(const Arguments& arguments);

// The same of `commits: {tree, buckets}` (versions/branch/tree_kind.h).
std::optional<bson::Document> parse_commits_options(const Arguments& arguments);

}  // namespace server
