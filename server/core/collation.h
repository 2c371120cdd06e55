// The `collation` of a command, checked.
#pragma once

#include "bson/document.h"

namespace server {

// {locale: "simple"}, {} and none at all are one: bytes compared. A specification that MongoDB refuses is refused in its words
// (40414, 40415, BadValue, TypeMismatch), whether the collection is there or not; a good one with CommandNotSupported.
void check_collation(const bson::ValueView& collation);

}  // namespace server
