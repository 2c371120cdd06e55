// Some commands take the `_id` of one document as an argument.
#pragma once

#include "server/core/arguments.h"

namespace server {

// Returns `_id`, or `id`: some drivers (PyMongo) send a field of the first name before all others, where a command's name
// belongs. Throws if neither or both are given, and for a value that can't be an _id.
bson::ValueView id_argument(const Arguments& arguments);

}  // namespace server
