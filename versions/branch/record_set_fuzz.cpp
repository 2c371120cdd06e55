// Any bytes are taken as a set of records. They are refused, or are a set that is written back as one that reads the same, and
// whose parts are those of the set. The checksums of its parts are put right, so that the bitmaps behind them are tried as well.
#include "base/fuzz_target.h"
#include "base/hash.h"
#include "base/varint.h"
#include "versions/branch/record_set.h"

namespace {

using namespace versions;

Bytes with_right_checksums(BytesView input) {
  Bytes out(input);
  BytesView left = input;
  if (!base::take_varint(left)) return out;
  while (!left.empty()) {
    const auto gap = base::take_varint(left);
    const auto bytes = gap ? base::take_varint(left) : std::nullopt;
    if (!bytes || left.size() < 4 || left.size() - 4 < *bytes) break;
    base::store_le(out.data() + (input.size() - left.size()), base::checksum32(left.substr(4, *bytes)));
    left.remove_prefix(4 + *bytes);
  }
  return out;
}

bool run(BytesView input) {
  const Bytes bytes = with_right_checksums(input);
  const auto set = read_set(bytes);
  for (const Segment segment : {Segment{0}, first_segment, Segment{UINT32_MAX}}) {
    const auto part = read_part(bytes, segment);
    if (!set.ok() || !part.ok()) continue;
    const Bitmap* whole = set.value().part(segment);
    base::check(whole ? *whole == part.value() : part.value().isEmpty());
  }
  if (!set.ok()) return false;
  const auto again = read_set(write_set(set.value()));
  base::check(again.ok() && again.value() == set.value());
  return true;
}

std::vector<Bytes> seeds() {
  RecordSet few, ranges;
  for (const RecordId record : {RecordId{1}, RecordId{7}, record_at(first_segment, 3), record_at(first_segment + 5, 1 << 20)})
    few.add(record);
  ranges.add_range(10, 5000);
  for (uint32_t i = 0; i < 300; ++i) ranges.add(record_at(first_segment, 3 * i));
  return {write_set({}), write_set(few), write_set(ranges)};
}

const base::FuzzTarget target("record_set", run, seeds);

}  // namespace
