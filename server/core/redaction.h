// Logs and views of operations always leave secrets out. A redacted log leaves out the values of fields, too.
#pragma once

#include <string>

#include "bson/builder.h"
#include "bson/document.h"

namespace server {

struct Request;

// Returns whether the request carries a password, or what is said in a login.
bool has_secrets(const Request& request);
// Returns the request's body with "xxx" in place of its secrets.
bson::Document without_secrets(const Request& request);
// The same for one of its fields. Returns whether the field is a secret as a whole.
bool is_secret(const Request& request, const bson::Element& field);
void append_without_secrets(bson::Builder& out, const Request& request, const bson::Element& field);

// A redacted log shows this in place of a value, or of a text that may quote one.
inline constexpr char redacted[] = "###";
// Returns the document as JSON with that in place of each value; the names of fields stay.
std::string redacted_json(bson::DocumentView document);

}  // namespace server
