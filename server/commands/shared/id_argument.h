// The `_id` of one document, as an argument of a command.
#pragma once

#include "server/core/arguments.h"

namespace server {

// `_id`, or `id`: some drivers (PyMongo) send a field of the first name before all others, where a command's name belongs. Throws
// where neither is there or both are, and for what can't be an _id.
bson::ValueView id_argument(const Arguments& arguments);

}  // namespace server
