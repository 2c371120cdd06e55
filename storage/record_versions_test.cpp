// Records under ids that the caller gives out, and kept as deltas of each other because he knows that they are versions.
#include "storage/test_support.h"

using namespace storage;
using namespace storage::test;

namespace {

EngineOptions without_dedup(const std::string& path) {
  EngineOptions options = test_options(path);
  options.dedup.enabled = false;
  return options;
}

}  // namespace

TEST_CASE("versions under given ids are kept as deltas and read back whole") {
  TemporaryDirectory directory;
  base::Random random(3);
  std::vector<Bytes> versions{document(1, words(random, 1000)).bytes()};
  const auto id = [](size_t i) { return static_cast<RecordId>(i / 3 + 1) << 32 | static_cast<RecordId>(i % 3 + 1); };
  {
    Engine engine(without_dedup(directory.path()));
    auto collection = engine.catalog().create("test.versions", {});
    RecordStore& records = collection->records();
    for (int i = 1; i < 40; ++i) versions.push_back(document(1, edited(random, std::string(bson::DocumentView(versions.back())["text"].as_string()))).bytes());
    size_t whole = 0;
    for (size_t i = 0; i < versions.size(); ++i) {
      in_transaction(engine, [&](Transaction& transaction) {
        records.insert_at(transaction, id(i), versions[i], transaction.next_stamp());
        whole += i > 0 && !records.keep_as_delta(transaction, id(i - 1), id(i));
      });
    }
    CHECK(whole > 0);  // a chain has an end
    CHECK(whole < 5);
    CHECK(records.state().chains.counters().get().stored_bytes() < records.stats().logical_bytes / 3);
    in_transaction(engine, [&](Transaction& transaction) {
      records.insert_at(transaction, id(99), document(1, words(random, 1000)).bytes(), transaction.next_stamp());
      CHECK_FALSE(records.keep_as_delta(transaction, id(39), id(99)));      // nothing in common
      CHECK_FALSE(records.keep_as_delta(transaction, id(39), id(2)));       // the wrong way round
      CHECK_FALSE(records.keep_as_delta(transaction, id(77), id(99)));      // not there
    });
    require_clean(engine, *collection);
  }
  Engine engine(without_dedup(directory.path()));
  auto collection = engine.catalog().open("test.versions");
  Transaction transaction(engine, Transaction::Mode::read);
  for (size_t i = 0; i < versions.size(); ++i) CHECK(collection->records().find(transaction, id(i)) == versions[i]);
}
