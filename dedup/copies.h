// find_copies finds the bytes that two contents share. Each DeltaMethod has a file.
#pragma once

#include "dedup/agree.h"
#include "dedup/delta.h"

namespace dedup {

std::optional<std::vector<Copy>> find_copies_by_resync(BytesView source, BytesView target, const DeltaOptions& options);
std::optional<std::vector<Copy>> find_copies_by_anchors(BytesView source, BytesView target, const DeltaOptions& options);

}  // namespace dedup
