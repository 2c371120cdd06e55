// A single value from outside passes this gate, as documents pass that of validate.h.
#pragma once

#include "base/result.h"
#include "bson/value.h"

namespace bson {

// Returns the value of this type that `bytes` starts with; `bytes` may go on behind it. Fails with InvalidBSON, and the offset in
// the message.
base::Result<ValueView> validate_value(Type type, BytesView bytes);

}  // namespace bson
