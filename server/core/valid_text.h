// Clients need not send UTF-8, but they always get it: invalid bytes are shown as \xff.
#pragma once

#include <string>

#include "bson/document.h"

namespace server {

std::string valid_text(std::string_view text);

// Does the same to all names and strings of a document. One without invalid bytes is returned as it is, and pays for the look
// alone.
bson::Document with_valid_text(bson::Document document);

}  // namespace server
