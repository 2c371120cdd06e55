// Where the suffixes of a text begin, in their order.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace dedup {

// In linear time, whatever the text: induced sorting (Nong, Zhang and Chan, "Two Efficient Algorithms for Linear Time Suffix Array
// Construction", 2011). The empty suffix, which comes before all, is left out.
std::vector<int32_t> suffix_array(base::BytesView text);

}  // namespace dedup
