// currentOp shows commands while others have to wait, so it copies no more than 16 KB of each.
#pragma once

#include "bson/builder.h"

namespace server {

struct Request;

inline constexpr size_t shown_field_bytes_max = 1024;  // of those that aren't shown whole

// Appends the request's fields without its secrets. One that has no room is shown by its size, "<N bytes>"; unless `whole`, so is
// each of more than a kilobyte. Where even names have no room, `$truncated` ends the command.
void append_shown(bson::Builder& out, const Request& request, bool whole);
// Does the same for a command without secrets.
void append_shown(bson::Builder& out, bson::DocumentView command, bool whole);

}  // namespace server
