// What the commands about search indexes share: they are read and checked, and then refused, as a mongod that isn't part of Atlas
// does.
#pragma once

#include "server/arguments.h"

namespace server {

// Throws CommandNotSupported (115).
[[noreturn]] void refuse_search_index();

// One index of createSearchIndexes: {name, type, definition}. Throws TypeMismatch, 40414, 40415.
void check_search_index(const Arguments& index);

// `id` and `name`, by which the others find theirs. Throws TypeMismatch.
void check_search_index_name(const Arguments& arguments);

}  // namespace server
