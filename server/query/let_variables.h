// The variables of a command's `let`, and what their expressions may read.
#pragma once

#include <string_view>

#include "bson/document.h"
#include "bson/value.h"

namespace server::query {

// Throws FailedToParse unless a user's variable may have that name: a lower-case letter first, then letters, digits and `_`.
void check_variable_name(std::string_view name);

// Returns whether an expression may read the document that it is evaluated for: it has a field path, $$ROOT or $$CURRENT.
bool reads_document(const bson::ValueView& expression);

// Returns whether an expression may read anything but constants: a document or a variable.
bool reads_anything(const bson::ValueView& expression);

// Checks the names and expressions of a command's `let`. Throws FailedToParse for a name, and 4890500 for an expression that
// reads a document: the variables get their values before there is one.
void check_let(bson::DocumentView let);

}  // namespace server::query
