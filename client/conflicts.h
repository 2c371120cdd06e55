// Verbs that merge show conflicts alike.
#pragma once

#include "bson/document.h"

namespace client {

// The exit code of a verb that changed nothing, since there are conflicts.
inline constexpr int exit_conflicts = 3;

// Prints the conflicts of a command's reply as a table, if it has any.
void print_conflicts(bson::DocumentView reply);

}  // namespace client
