#include "versions/branch/commit_history.h"

#include <catch2/catch.hpp>

#include "base/random.h"
#include "storage/testing/temporary_store.h"

using namespace versions;

TEST_CASE("any state of a tree of commits is what its deltas add up to") {
  storage::TemporaryDirectory directory;
  storage::Engine engine(storage::test_options(directory.path()));
  const Table table = engine.open_table("history");
  CommitHistory history(table);
  base::Random random(5);
  std::vector<RecordSet> states(1);
  std::vector<State> tips{0};
  for (State state = 1; state <= 900; ++state) {
    // Mostly continues one of a few lines; sometimes begins a new one, anywhere.
    const size_t line = random.below(tips.size());
    const State parent = random.below(60) == 0 ? random.below(states.size()) : tips[line];
    RecordSet changed;
    for (uint64_t i = 1 + random.below(4); i > 0; --i)
      changed.add(record_at(first_segment + static_cast<Segment>(random.below(3)), static_cast<uint32_t>(1 + random.below(40))));
    if (random.below(40) == 0) changed = states[parent];  // everything goes
    if (changed.empty()) changed.add(record_at(7, 7));
    storage::in_transaction(engine, [&](Transaction& transaction) { history.append(transaction, state, parent, changed); });
    states.push_back(states[parent]);
    states.back() ^= changed;
    if (parent == tips[line])
      tips[line] = state;
    else
      tips.push_back(state);
  }

  // The result doesn't depend on what is in memory: it is compared as written, with nothing cached, and with a tiny cache.
  CommitHistory cold(table), small(table, 600);
  Transaction transaction(engine, Transaction::Mode::read);
  for (CommitHistory* one : {&history, &cold, &small}) {
    for (int i = 0; i < 300; ++i) {
      const State a = random.below(states.size()), b = random.below(states.size());
      const Segment segment = first_segment + static_cast<Segment>(random.below(4));
      const Bitmap* part = states[a].part(segment);
      const LivePart live = one->part(transaction, a, segment);
      CHECK(live.whole() == (part ? *part : Bitmap()));
      CHECK(live.count() == (part ? part->cardinality() : 0));
      CHECK((!part || live.maximum() >= part->maximum()));
      CHECK(one->has_any(transaction, a, segment) == (part != nullptr));
      RecordSet between = states[a];
      between ^= states[b];
      CHECK(one->between(transaction, a, b) == between);
      CHECK(*one->whole(transaction, a) == states[a]);
    }
  }
}

TEST_CASE("a state that is missing or damaged is reported") {
  storage::TemporaryDirectory directory;
  storage::Engine engine(storage::test_options(directory.path()));
  const Table table = engine.open_table("history");
  RecordSet changed;
  changed.add_range(1, 1000);
  storage::in_transaction(engine, [&](Transaction& transaction) { CommitHistory(table).append(transaction, 3, 0, changed); });
  storage::in_transaction(engine, [&](Transaction& transaction) {
    CommitHistory history(table);
    CHECK_THROWS_AS(history.whole(transaction, 4), base::OperationError);
    Bytes key;
    base::append_be64(key, 3);
    key.push_back('\0');
    Bytes row(*table.get(transaction, key));
    row[12] ^= 1;  // in the bitmap of segment 0
    table.put(transaction, key, row);
    CHECK_THROWS_AS(history.whole(transaction, 3), base::OperationError);
    CHECK_THROWS_AS(history.part(transaction, 3, 0), base::OperationError);
  });
}
