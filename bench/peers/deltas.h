// Other delta coders are functions here, from source and target to delta.
#pragma once

#include "base/bytes.h"

namespace bench {

using base::Bytes;
using base::BytesView;

using DeltaFunction = Bytes (*)(BytesView source, BytesView target);

// This is xdelta3 as a library, without secondary compression; dbDedup §5.3 builds on it.
Bytes xdelta3_delta(BytesView source, BytesView target);
// This is zstd with the source as prefix (ZSTD_CCtx_refPrefix).
Bytes zstd_delta_1(BytesView source, BytesView target);
Bytes zstd_delta_3(BytesView source, BytesView target);

}  // namespace bench
