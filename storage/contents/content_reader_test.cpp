// These tests read contents that are stored as deltas, in transactions that are older than many of the deltas.
#include "storage/contents/content_reader.h"

#include <catch2/catch.hpp>

#include "base/random.h"
#include "storage/background/dedup_service.h"
#include "storage/contents/record_store_state.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"

using namespace storage;
using test::words;

TEST_CASE("a reader passes no rows that came to the chains since its snapshot, but once") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().create("db.things", {});
  base::Random random(1);
  std::string text = words(random, 2000);
  std::vector<RecordId> records;
  const auto insert = [&](int count) {
    for (int i = 0; i < count; ++i) {
      text.replace(random.below(1900), random.below(30), words(random, 20));
      bson::Builder made;
      made.append("_id", static_cast<int>(records.size())).append("text", text);
      const auto document = made.done();
      records.push_back(
          in_transaction(store, [&](Transaction& transaction) { return collection->insert(transaction, document).id; }));
    }
    store.dedup().drain(true);
  };
  const auto skipped = [&] {
    bson::Builder out;
    store.engine().append_stats(out);
    return out.done()["cursor"].as_document()["Total number of entries skipped by cursor next calls"].to_int64();
  };

  constexpr int before = 60, later = 600;
  insert(before);
  Transaction old(store, Transaction::Mode::read);
  REQUIRE(collection->find(old, records[0], nullptr));
  insert(later);
  const int64_t begun = skipped();
  for (int i = 0; i < before; ++i) REQUIRE(collection->find(old, records[static_cast<size_t>(i)], nullptr));
  CHECK(skipped() - begun < later);
}
