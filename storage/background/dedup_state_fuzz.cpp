// Any bytes are taken as the rows of what dedup remembers over a restart. They are refused, or are written as rows that read the
// same.
#include "base/fuzz_target.h"
#include "storage/background/dedup_state.h"

namespace {

using namespace storage;

bool check_collection(BytesView row) {
  const auto state = read_collection_state(row);
  if (!state) return false;
  base::check(state->encoded >= 0);
  const Bytes again = write_state(*state);
  base::check(write_state(read_collection_state(again).value()) == again);
  return true;
}

bool check_database(BytesView row) {
  const auto state = read_database_state(row);
  if (!state) return false;
  const auto again = read_database_state(write_state(*state));
  base::check(again && again->number == state->number && again->seed == state->seed);
  return true;
}

bool check_counts(BytesView bytes) {
  const auto counts = read_counts(bytes);
  if (!counts) return false;
  base::check(write_counts(read_counts(write_counts(*counts)).value()) == write_counts(*counts));
  return true;
}

bool run(BytesView input) {
  const bool collection = check_collection(input), database = check_database(input), counts = check_counts(input);
  return collection || database || counts;
}

std::vector<Bytes> seeds() {
  StoreCounts counts;
  counts.records = 1000;
  counts.logical_bytes = -5;
  return {write_state(CollectionState{.encoded = 300, .missed_from = UINT64_MAX, .seen = 1'700'000'000, .counts = counts}),
          write_state(CollectionState{.encoded = 1, .missed_from = 77, .seen = 80, .counts = {}}),
          write_state(DatabaseState{.number = 3, .seed = 0x1234567890abcdef}), write_counts(counts)};
}

const base::FuzzTarget target("dedup_state", run, seeds);

}  // namespace
