// Any rows are taken as what branches were in snapshots. They are refused, as damaged data is, or each of them can be visited.
//
// The input is a snapshot (8 bytes), an owner (a part), and rows (storage/testing/fuzz_table.h).
#include "storage/testing/fuzz_table.h"
#include "versions/past/saved_states.h"

namespace {

using namespace versions::past;

storage::FuzzTable& rows() {
  static storage::FuzzTable one(SavedStates::table_name);
  return one;
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const Stamp snapshot = reader.number();
  const BytesView owner = reader.part();
  return rows().with_rows(reader.rest(), [&](Transaction& transaction) {
    const SavedStates states(rows().table());
    size_t bytes = 0;
    const auto visit = [&](BytesView name, BytesView value) { bytes += name.size() + value.size(); };
    const bool shown = !base::refuses([&] { states.each_as_of(transaction, owner, snapshot, visit); });
    const bool all = !base::refuses([&] { states.each(transaction, owner.substr(0, 1), owner.size(), visit); });
    base::check(bytes <= 2 * input.size(), "what was visited is in the rows");
    return shown && all;
  });
}

std::vector<Bytes> seeds() {
  const Bytes owner = "o123";
  const Bytes all = rows().rows_of([&](Transaction& transaction) {
    const SavedStates states(rows().table());
    states.save(transaction, owner, "head", 0, "value", 40);
    states.save(transaction, owner, "head", 0, "", 50);
    states.save(transaction, owner, "pending", 45, "another", 50);
    states.save(transaction, "other", "head", 0, "value", 50);
  });
  // Values that hold since some time, and a name that has several.
  const Bytes since = rows().rows_of([&](Transaction& transaction) {
    const SavedStates states(rows().table());
    states.save(transaction, owner, "pending", 10, "first", 20);
    states.save(transaction, owner, "pending", 25, "second", 40);
    states.save(transaction, owner, "pending", 41, "", 60);
  });
  const auto seed = [&](Stamp snapshot, BytesView rows) { return base::FuzzWriter().number(snapshot).part(owner).rest(rows); };
  return {seed(40, all), seed(50, all), seed(30, since), seed(UINT64_MAX, since), seed(40, {})};
}

const base::FuzzTarget target("saved_states", run, seeds);

}  // namespace
