// Any row is taken as one of what repairs have lost of snapshots. It is refused, as damaged data is, or its key is the one that
// is made of what it says.
//
// The input is a key (a part) and a value.
#include "base/fuzz_target.h"
#include "versions/past/lost_past.h"

namespace {

using namespace versions::past;

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const Bytes key(reader.part());
  const BytesView value = reader.rest();
  return !base::refuses([&] {
    const LostRow row = read_lost_row(key, value);
    base::check(lost_row_key(row.kind, row.hole) == key, "the row has the key of what it says");
    base::check(write_lost_row(row.snapshot) == value, "the row has the value of what it says");
  });
}

std::vector<Bytes> seeds() {
  const auto row = [](LostKind kind, const Hole& hole) {
    return base::FuzzWriter().part(lost_row_key(kind, hole)).rest(write_lost_row(40));
  };
  return {row(LostKind::of_collections, {Bytes("\0\0\0\1abc", 7), Bytes("\0\0\0\3", 4)}),
          row(LostKind::of_branches, {{}, std::nullopt})};
}

const base::FuzzTarget target("lost_past", run, seeds);

}  // namespace
