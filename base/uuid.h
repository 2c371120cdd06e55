// A UUID is 16 bytes, which are random but for its version, 4 (RFC 4122).
#pragma once

#include "base/bytes.h"

namespace base {

Bytes random_uuid();

}  // namespace base
