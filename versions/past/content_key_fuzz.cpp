// Any bytes are taken as a key of what was purged from snapshots. They are refused, as damaged data is, or are the key of what
// they name.
#include "versions/past/content_key.h"

#include <optional>

#include "base/fuzz_target.h"

namespace {

using namespace versions::past;

bool run(base::BytesView input) {
  std::optional<ContentName> name;
  if (base::refuses([&] { name = read_content_key(input); })) return false;
  const auto& [collection, row, content] = *name;
  base::check(content_key(collection, {row, content}) == input, "a key is written as it was read");
  return true;
}

std::vector<base::Bytes> seeds() {
  return {content_key(7, {300, (storage::Stamp{1'700'000'000} << 32) | 7}), content_key(UINT32_MAX, {storage::record_id_max, 1})};
}

const base::FuzzTarget target("content_key", run, seeds);

}  // namespace
