#include "storage/engine/cache_waits.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "storage/engine/table.h"
#include "storage/testing/temporary_store.h"

using namespace storage;
using Mode = Transaction::Mode;

namespace {

struct Stop {};

StoreOptions options_of_a_small_cache(const std::string& path) {
  StoreOptions options = test_options(path);
  options.cache_bytes = 8 << 20;
  return options;
}

// While this lives, an open transaction holds more than the cache has room for.
class FullCache {
 public:
  FullCache(Engine& engine, const Table& table) : holder_(engine, Mode::write) {
    table.put(holder_, "large", Bytes(10 << 20, 'x'));
  }

 private:
  Transaction holder_;
};

}  // namespace

TEST_CASE("a read that waits for the cache ends with its operation") {
  TemporaryDirectory directory;
  Engine engine(options_of_a_small_cache(directory.path()));
  const Table table = engine.open_table("things");
  in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, "k", "1"); });
  {
    const FullCache full(engine, table);
    const base::Interrupted stop = [] { throw Stop(); };
    const InterruptibleWaits waits(&stop);
    Transaction reader(engine, Mode::read);
    CHECK_THROWS_AS(table.get(reader, "k"), Stop);
  }
  Transaction reader(engine, Mode::read);
  CHECK(table.get(reader, "k") == "1");
}

TEST_CASE("a wait asks its operation again and again") {
  TemporaryDirectory directory;
  Engine engine(options_of_a_small_cache(directory.path()));
  const Table table = engine.open_table("things");
  const FullCache full(engine, table);
  // The third question comes only if the thread goes on waiting after its first half second.
  int asked = 0;
  const base::Interrupted stop = [&] {
    if (++asked == 3) throw Stop();
  };
  const InterruptibleWaits waits(&stop);
  CHECK_THROWS_AS(in_transaction(
                      engine, [&](Transaction& transaction) { table.put(transaction, "k", "1"); }, stop),
                  Stop);
}

TEST_CASE("what an interrupted wait leaves half made is not committed") {
  TemporaryDirectory directory;
  Engine engine(options_of_a_small_cache(directory.path()));
  const Table table = engine.open_table("things");
  const base::Interrupted stop = [] { throw Stop(); };
  {
    Transaction writer(engine, Mode::write);
    table.put(writer, "first", "1");
    const FullCache full(engine, table);
    const InterruptibleWaits waits(&stop);
    CHECK_THROWS_AS(table.put(writer, "second", "2"), Stop);
    // Whoever takes this for the failure of one statement among others learns here that it isn't.
    CHECK_THROWS_AS(writer.commit(), Stop);
  }
  Transaction reader(engine, Mode::read);
  CHECK_FALSE(table.get(reader, "first"));
  CHECK_FALSE(table.get(reader, "second"));
}

TEST_CASE("a commit is not interrupted") {
  TemporaryDirectory directory;
  Engine engine(options_of_a_small_cache(directory.path()));
  const Table table = engine.open_table("things");
  const base::Interrupted stop = [] { throw Stop(); };
  {
    Transaction writer(engine, Mode::write);
    table.put(writer, "k", "1");
    const FullCache full(engine, table);
    const InterruptibleWaits waits(&stop);
    CHECK_NOTHROW(writer.commit());
    CHECK_FALSE(wait_was_interrupted);
  }
  Transaction reader(engine, Mode::read);
  CHECK(table.get(reader, "k") == "1");
}
