// All BSON from outside passes this gate once; behind it, views trust their bytes.
#pragma once

#include "base/result.h"
#include "bson/document.h"

namespace bson {

struct ValidateOptions {
  size_t bytes_max = document_bytes_max_internal;
  int depth_max = nesting_max;
  bool utf8 = false;  // also demand well-formed UTF-8 in strings and names
};

// Returns the document that `bytes` starts with; `bytes` may go on behind it. Checks every length,
// type, terminator and level. Fails with InvalidBSON or BSONObjectTooLarge and the offset in the
// message.
base::Result<DocumentView> validate(BytesView bytes, const ValidateOptions& options = {});

}  // namespace bson
