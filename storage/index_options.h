// The changes of an index that need no rebuilding, made to its specification:
// the same whether collMod asks for them or the log does.
#pragma once

#include "storage/index.h"

namespace storage {

// One that has it already stays as it is.
void set_expiry(IndexSpec& spec, int64_t seconds);
void set_hidden(IndexSpec& spec, bool hidden);

}  // namespace storage
