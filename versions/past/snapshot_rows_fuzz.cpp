// Any bytes are taken as rows of the list of declared snapshots. They are refused, as damaged data is, or written as rows that
// read the same.
//
// The input is a key (a part), and a row.
#include "base/fuzz_target.h"
#include "versions/past/snapshot_rows.h"

namespace {

using namespace versions::past;
using base::Bytes;
using base::BytesView;

bool check_snapshot(BytesView key, BytesView value) {
  return !base::refuses([&] {
    const SnapshotRow row = read_snapshot_row(key, value);
    const SnapshotRow again = read_snapshot_row(snapshot_key(row.snapshot.number), write_snapshot_row(row).bytes());
    base::check(again.snapshot.number == row.snapshot.number && again.snapshot.stamp == row.snapshot.stamp &&
                    again.snapshot.time_ms == row.snapshot.time_ms && again.snapshot.name == row.snapshot.name &&
                    again.dropped == row.dropped,
                "a snapshot is read as it was written");
  });
}

bool check_next(BytesView value) {
  return !base::refuses([&] {
    const NextSnapshotRow row = read_next_snapshot(value);
    const NextSnapshotRow again = read_next_snapshot(write_next_snapshot(row).bytes());
    base::check(again.next == row.next && again.newest == row.newest, "the next number is read as it was written");
  });
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const BytesView key = reader.part();
  const bool snapshot = check_snapshot(key, reader.rest()), next = check_next(reader.rest());
  return snapshot || next;
}

std::vector<Bytes> seeds() {
  const auto seed = [](BytesView key, const bson::Document& row) { return base::FuzzWriter().part(key).rest(row.bytes()); };
  return {seed(snapshot_key(42), write_snapshot_row({{42, 7, 1'700'000'000'000, "before"}, false})),
          seed(snapshot_key(43), write_snapshot_row({{43, 8, -1, ""}, true})),
          seed(next_snapshot_key, write_next_snapshot({44, 8}))};
}

const base::FuzzTarget target("snapshot_rows", run, seeds);

}  // namespace
