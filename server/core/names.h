// These functions check the names of databases, collections and fields.
#pragma once

#include <optional>
#include <string_view>

#include "bson/document.h"

namespace server {

// A database's name has 1 to 63 bytes without / \ . " space and NUL. A ref behind an `@` (shop@dev~2) isn't part of that length,
// but is at most 255 bytes long itself.
bool valid_database_name(std::string_view name);

// A collection's name isn't empty, and has no leading dot, no `$` and no NUL.
bool valid_collection_name(std::string_view name);

// Returns whether a request may name such a collection of another database than its own. The two must be valid by themselves:
// the catalog would find admin.system.users by "admin.system" and "users" too, and whoever looks at the database wouldn't see it.
bool valid_namespace(std::string_view database, std::string_view collection);

// Returns a name that more than one of the fields has.
std::optional<std::string_view> repeated_name(bson::DocumentView fields);

// Throws 40413 if a name repeats: "BSON field '$lookup.from' is a duplicate field", where `path` is "$lookup". What decides who
// may run a command and what runs it must not read two different fields of one name.
void refuse_repeated(std::string_view path, bson::DocumentView fields);

}  // namespace server
