// Input: a page, without its checksum. What can be read is written back the same.
#include <cstdlib>

#include "base/hash.h"
#include "dedup/metadata_page.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dedup;
  Bytes page(4, '\0');
  page.append(reinterpret_cast<const char*>(data), size);
  base::store_le(page.data(), base::checksum32(BytesView(page).substr(4)));
  const auto slots = read_metadata_page(page);
  if (!slots) return 0;
  const auto again = read_metadata_page(write_metadata_page(*slots));
  if (!again || again->size() != slots->size()) std::abort();
  for (size_t i = 0; i < slots->size(); ++i) {
    const auto &a = (*slots)[i], &b = (*again)[i];
    if (a.has_value() != b.has_value() || (a && (a->id != b->id || !(a->features == b->features)))) std::abort();
  }
  return 0;
}
