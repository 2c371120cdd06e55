// The input is a page without its checksum. It is refused, or written back as slots that read the same.
#include "base/fuzz_target.h"
#include "dedup/metadata_page.h"

namespace {

using namespace dedup;

bool same(const std::optional<Metadata>& a, const std::optional<Metadata>& b) {
  if (!a || !b) return !a && !b;
  return a->id == b->id && a->placement == b->placement && a->features == b->features && a->has_lineage == b->has_lineage &&
         a->hop_bases == b->hop_bases && a->delta_bytes == b->delta_bytes;
}

bool run(BytesView input) {
  Bytes page(4, '\0');
  page.append(input);
  base::store_le(page.data(), metadata_page_checksum(page));
  const auto slots = read_metadata_page(page);
  if (!slots) return false;
  const auto again = read_metadata_page(write_metadata_page(*slots));
  base::check(again && again->size() == slots->size());
  for (size_t i = 0; i < slots->size(); ++i) base::check(same((*slots)[i], (*again)[i]));
  return true;
}

std::vector<Bytes> seeds() {
  MetadataSlots slots(4);
  slots[0] = Metadata{.id = {1, 7, 5}, .placement = {7, 0}, .features = {}, .has_lineage = false, .hop_bases = {}};
  slots[2] = Metadata{.id = {2, 9, uint64_t{1} << 32 | 3},
                      .placement = {4, 17},
                      .features = {},
                      .has_lineage = true,
                      .demoted_below = 1,
                      .delta_bytes = 40,
                      .hop_bases = {{2, 8, 4}, {2, 5, 1}}};
  slots[2]->features.add(5);
  return {write_metadata_page(slots).substr(4), write_metadata_page({}).substr(4)};
}

const base::FuzzTarget target("metadata_page", run, seeds);

}  // namespace
