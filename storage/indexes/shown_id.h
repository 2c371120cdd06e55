// Errors about a document that is too large for a message show its _id.
#pragma once

#include <string>

#include "bson/document.h"

namespace storage {

// Returns "{_id: 1}" in the shell's form. A large _id is left out.
std::string shown_id(bson::DocumentView document);

}  // namespace storage
