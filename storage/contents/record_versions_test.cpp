// These tests insert records under ids that the caller assigns, and store them as deltas of each other because the caller knows
// that they are versions.
#include <algorithm>

#include "base/testing.h"
#include "storage/contents/record_store_state.h"
#include "storage/testing/test_support.h"

using namespace storage;
using namespace storage::test;

namespace {

StoreOptions without_dedup(const std::string& path) {
  StoreOptions options = test_options(path);
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
    Store store(without_dedup(directory.path()));
    auto collection = store.catalog().create("test.versions", {});
    RecordStore& records = collection->records();
    for (int i = 1; i < 40; ++i)
      versions.push_back(
          document(1, edited(random, std::string(bson::DocumentView(versions.back())["text"].as_string()))).bytes());
    size_t whole = 0;
    for (size_t i = 0; i < versions.size(); ++i) {
      in_transaction(store, [&](Transaction& transaction) {
        records.insert_at(transaction, id(i), versions[i], transaction.next_stamp());
        whole += i > 0 && !records.keep_as_delta(transaction, id(i - 1), id(i));
      });
    }
    CHECK(whole > 0);  // a chain has an end
    CHECK(whole < 5);
    CHECK(records.state().chains.counters().get().stored_bytes() < records.stats().logical_bytes / 3);
    in_transaction(store, [&](Transaction& transaction) {
      records.insert_at(transaction, id(99), document(1, words(random, 1000)).bytes(), transaction.next_stamp());
      CHECK_FALSE(records.keep_as_delta(transaction, id(39), id(99)));  // they have nothing in common
      CHECK_FALSE(records.keep_as_delta(transaction, id(39), id(2)));   // the order is wrong
      CHECK_FALSE(records.keep_as_delta(transaction, id(77), id(99)));  // the record doesn't exist
    });
    require_clean(store, *collection);
  }
  Store store(without_dedup(directory.path()));
  auto collection = store.catalog().open("test.versions");
  Transaction transaction(store, Transaction::Mode::read);
  for (size_t i = 0; i < versions.size(); ++i) CHECK(collection->records().find(transaction, id(i)) == versions[i]);
}

TEST_CASE("a scan reads the same as one record after the other, in either direction, however chains lie") {
  TemporaryDirectory directory;
  base::Random random(17);
  Store store(without_dedup(directory.path()));
  auto collection = store.catalog().create("test.versions", {});
  RecordStore& records = collection->records();
  // There are chains of one to five versions, some side by side and some interleaved, and whole records between them.
  std::vector<std::pair<RecordId, std::string>> newest;
  RecordId next = 1;
  in_transaction(store, [&](Transaction& transaction) {
    for (int i = 0; i < 300; ++i) {
      const bool another = newest.empty() || random.below(3) == 0;
      const size_t which = another ? newest.size() : newest.size() - 1 - random.below(std::min<size_t>(newest.size(), 4));
      if (another) newest.emplace_back(0, words(random, 800));
      auto& [record, text] = newest[which];
      text = edited(random, text);
      records.insert_at(transaction, next, document(1, text).bytes(), transaction.next_stamp());
      if (!another) records.keep_as_delta(transaction, record, next);
      record = next++;
    }
  });
  Transaction transaction(store, Transaction::Mode::read);
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    RecordCursor cursor = records.cursor(transaction, direction);
    size_t deltas = 0;
    for (int pass = 0; pass < 2; ++pass) {
      while (cursor.next()) {
        deltas += !cursor.whole();
        if (pass == 1 && random.below(3) == 0) continue;
        CHECK(cursor.content() == *records.find(transaction, cursor.id()));
      }
      cursor.seek_after(direction == Direction::forward ? 20 : 280);
    }
    CHECK(deltas > 100);
  }
}

TEST_CASE("a cursor goes on from any record, wherever rows moved to") {
  TemporaryDirectory directory;
  base::Random random(base::testing::seed());
  Store store(without_dedup(directory.path()));
  auto collection = store.catalog().create("test.moved", {});
  RecordStore& records = collection->records();
  ChainStore& chains = records.state().chains;
  constexpr RecordId last = 200;
  std::vector<RecordId> there;
  in_transaction(store, [&](Transaction& transaction) {
    for (RecordId id = 1; id <= last; ++id) {
      if (random.below(4) == 0) continue;
      records.insert_at(transaction, id, document(static_cast<int>(id), "").bytes(), transaction.next_stamp());
      there.push_back(id);
    }
  });
  const uint64_t part = random.below(4);
  in_transaction(store, [&](Transaction& transaction) {
    for (const RecordId id : there) {
      if (random.below(4) < part) continue;
      const Bytes row(*chains.tables().records.get(transaction, record_key(id)));
      chains.tables().records.remove(transaction, record_key(id));
      chains.tables().packed.put(transaction, record_key(id), row);
    }
  });
  chains.set_packed_below(static_cast<RecordId>(random.below(last)));
  Transaction transaction(store, Transaction::Mode::read);
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    RecordCursor cursor = records.cursor(transaction, direction);
    if (direction == Direction::backward) std::reverse(there.begin(), there.end());
    const auto is_after = [&](RecordId id, RecordId place) { return direction == Direction::forward ? id > place : id < place; };
    for (int round = 0; round < 500; ++round) {
      const auto place = static_cast<RecordId>(random.below(last + 2));
      auto expected = std::find_if(there.begin(), there.end(), [&](RecordId id) { return is_after(id, place); });
      cursor.seek_after(place);
      for (uint64_t steps = random.below(20); steps > 0; --steps, ++expected) {
        REQUIRE(cursor.next() == (expected != there.end()));
        if (expected == there.end()) break;
        REQUIRE(cursor.id() == *expected);
        REQUIRE(cursor.content() == document(static_cast<int>(*expected), "").bytes());
      }
    }
  }
}
