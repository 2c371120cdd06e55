// Logs and views of operations always leave secrets out. A redacted log leaves out the values of fields, too.
#pragma once

#include <string>

#include "bson/document.h"

namespace server {

struct Request;

// Returns whether the request carries a password, or what is said in a login.
bool has_secrets(const Request& request);
// Returns the request's body with "xxx" in place of its secrets.
bson::Document without_secrets(const Request& request);

// A redacted log shows this in place of a value, or of a text that may quote one.
inline constexpr char redacted[] = "###";
// Returns the document as JSON with that in place of each value; the names of fields stay.
std::string redacted_json(bson::DocumentView document);

}  // namespace server
