#include "storage/engine/touch.h"

#include "storage/testing/test_support.h"

using namespace storage;
using namespace storage::test;

TEST_CASE("a touch conflicts with writers and touches of its row, and leaves nothing") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("touched");
  {
    Transaction one(engine, Transaction::Mode::write), other(engine, Transaction::Mode::write),
        writer(engine, Transaction::Mode::write);
    touch(one, table, "a");
    touch(one, table, "a");
    touch(one, table, "b");
    touch(other, table, "c");
    CHECK_THROWS_AS(touch(other, table, "a"), WriteConflict);
    CHECK_THROWS_AS(table.put(writer, "b", "1"), WriteConflict);
    one.commit();
  }
  {
    // This transaction began before the touch was committed, so it conflicts afterwards too.
    Transaction before(engine, Transaction::Mode::write);
    in_transaction(engine, [&](Transaction& transaction) { touch(transaction, table, "a"); });
    CHECK_THROWS_AS(table.put(before, "a", "1"), WriteConflict);
  }
  Transaction transaction(engine, Transaction::Mode::read);
  CHECK_FALSE(table.cursor(transaction).next());
}
