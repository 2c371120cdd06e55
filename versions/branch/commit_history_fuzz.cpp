// Any rows are taken as the history of a collection's committed states. Each question about a state is refused, as damaged data
// is, or has one answer, whatever is in memory already.
//
// The input is two states, a segment (8 bytes each), and rows (storage/testing/fuzz_table.h).
#include "storage/testing/fuzz_table.h"
#include "versions/branch/commit_history.h"

namespace {

using namespace versions;

storage::FuzzTable& rows() {
  static storage::FuzzTable one("history");
  return one;
}

bool check_state(CommitHistory& history, Transaction& transaction, State state, Segment segment) {
  std::shared_ptr<const RecordSet> whole;
  LivePart part;
  const bool has_whole = !base::refuses([&] { whole = history.whole(transaction, state); });
  const bool has_part = !base::refuses([&] { part = history.part(transaction, state, segment); });
  if (has_part) {
    base::check(part.count() == part.whole().cardinality());
    CommitHistory cold(rows().table());
    base::check(cold.part(transaction, state, segment).whole() == part.whole());
  }
  base::refuses([&] { history.has_any(transaction, state, segment); });
  base::refuses([&] { history.first_of(transaction, state); });
  return has_whole && has_part;
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const State a = reader.number(), b = reader.number();
  const auto segment = static_cast<Segment>(reader.number());
  return rows().with_rows(reader.rest(), [&](Transaction& transaction) {
    CommitHistory history(rows().table());
    const bool has_a = check_state(history, transaction, a, segment), has_b = check_state(history, transaction, b, segment);
    return !base::refuses([&] { history.between(transaction, a, b); }) && has_a && has_b;
  });
}

Bytes seed(State a, State b, Segment segment, State states) {
  const Bytes all = rows().rows_of([&](Transaction& transaction) {
    CommitHistory history(rows().table());
    for (State state = 1; state <= states; ++state) {
      RecordSet changed;
      changed.add(record_at(first_segment + static_cast<Segment>(state % 2), static_cast<uint32_t>(state)));
      history.append(transaction, state, state > 3 && state % 5 == 0 ? state - 3 : state - 1, changed);
    }
  });
  return base::FuzzWriter().number(a).number(b).number(segment).rest(all);
}

std::vector<Bytes> seeds() {
  return {seed(1, 0, first_segment, 1), seed(7, 5, first_segment + 1, 7), seed(36, 20, first_segment, 36)};
}

const base::FuzzTarget target("commit_history", run, seeds);

}  // namespace
