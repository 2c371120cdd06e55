// This file checks the `collation` of a command.
#pragma once

#include "bson/document.h"

namespace server {

// {locale: "simple"}, {} and a missing collation all mean that bytes are compared. A specification that MongoDB refuses is
// refused with its words (40414, 40415, BadValue, TypeMismatch), even if the collection doesn't exist; a valid one is refused
// with CommandNotSupported.
void check_collation(const bson::ValueView& collation);

}  // namespace server
