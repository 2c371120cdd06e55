// Single reads as of a snapshot must find the same whatever was read before.
#include <catch2/catch.hpp>
#include <future>
#include <set>
#include <thread>

#include "base/random.h"
#include "bson/json.h"
#include "bson/keystring.h"
#include "storage/engine/interruptible_waits.h"
#include "versions/past/test_support.h"

using namespace versions::past::test;
using storage::Transaction;

TEST_CASE("a look-up finds what its transaction sees, whatever later ones and earlier look-ups have read") {
  OnePast world;
  auto& [directory, engine, past, views, collection] = world;
  const bson::Document one = document_of(1, {0, 0, "one"}), two = document_of(2, {0, 0, "two"}),
                       other = document_of(1, {0, 0, "other"});
  storage::RecordId first = 0, second = 0;
  world.change([&](Transaction& transaction) {
    first = collection->insert(transaction, one).id;
    second = collection->insert(transaction, two).id;
  });
  const auto then = world.as_of(world.declare());
  const auto look_up = [&](Transaction& transaction, storage::RecordId record, const bson::Document& due) {
    CHECK(then->find_id(transaction, due["_id"]) == record);
    for (int times = 0; times < 2; ++times) {  // the first read finds it, the second one may use what the first one left
      const auto found = then->find(transaction, record);
      REQUIRE(found);
      CHECK(found->bytes() == due.bytes());
    }
  };
  Transaction early(engine, Transaction::Mode::read);
  world.change([&](Transaction& transaction) { collection->update(transaction, first, one, other); });
  {
    // The page table of this transaction has what the early one doesn't see yet.
    Transaction late(engine, Transaction::Mode::read);
    CHECK(then->record_count() == 2);
    look_up(late, first, one);
  }
  look_up(early, first, one);
  look_up(early, second, two);
  early.rollback();

  // A document that was found just before isn't returned once it is purged.
  Transaction before(engine, Transaction::Mode::read);
  CHECK(then->find_id(before, one["_id"]) == first);
  before.rollback();
  bson::KeyString key;
  key.append(static_cast<bson::ValueView>(one["_id"]));
  world.change([&](Transaction& transaction) {
    collection->remove(transaction, first, other);
    CHECK(past.purge(transaction, *collection, key.bytes()) > 0);
    transaction.next_stamp();
  });
  Transaction after(engine, Transaction::Mode::read);
  CHECK_FALSE(then->find(after, first));
  CHECK_FALSE(then->find_id(after, one["_id"]));
  look_up(after, second, two);
}

namespace {

// These documents have nothing in common, so what is kept of one leaves its row.
bson::Document stranger(int id, int times) {
  base::Random random(static_cast<uint64_t>(id * 10 + times));
  std::string text(400, '\0');
  for (char& c : text) c = static_cast<char>('a' + random.below(26));
  return document_of(id, {.a = times, .u = id, .text = text});
}

}  // namespace

TEST_CASE("a scan finds what its transaction sees, where runs of records were written since and where none was") {
  constexpr int documents = 90;
  OnePast world;
  auto& [directory, engine, past, views, collection] = world;
  std::vector<storage::RecordId> records;
  world.change([&](Transaction& transaction) {
    transaction.expect_stamps(documents);
    for (int i = 0; i < documents; ++i) records.push_back(collection->insert(transaction, stranger(i, 0)).id);
  });
  const auto then = world.as_of(world.declare());
  Transaction early(engine, Transaction::Mode::read);
  world.change([&](Transaction& transaction) {
    transaction.expect_stamps(documents);
    for (int i = 0; i < documents; ++i) {
      const bool updated = i < 25 || (i >= 50 && i % 3 == 0) || i >= 85, removed = i >= 30 && i < 38;
      if (updated) collection->update(transaction, records[static_cast<size_t>(i)], stranger(i, 0), stranger(i, 1));
      if (removed) collection->remove(transaction, records[static_cast<size_t>(i)], stranger(i, 0));
    }
    for (int i = 0; i < 5; ++i) collection->insert(transaction, stranger(documents + i, 0));
  });
  Transaction late(engine, Transaction::Mode::read);
  REQUIRE(then->record_count() == documents);  // the page table is made now, and has what the early one doesn't see
  base::Random random(3);
  for (Transaction* transaction : {&late, &early}) {
    for (const auto direction : {storage::Direction::forward, storage::Direction::backward}) {
      const bool forward = direction == storage::Direction::forward;
      for (int begin = -1; begin < documents; begin += 1 + static_cast<int>(random.below(7))) {
        INFO("early " << (transaction == &early) << ", forward " << forward << ", from " << begin);
        const auto scan = then->scan(*transaction, direction);
        if (begin >= 0) scan->seek(records[static_cast<size_t>(begin)]);
        if (begin % 2 == 0) scan->save(), scan->restore(*transaction);
        int due = begin >= 0 ? begin : forward ? 0 : documents - 1;
        for (; scan->next(); due += forward ? 1 : -1) {
          REQUIRE((due >= 0 && due < documents));
          REQUIRE(scan->record() == records[static_cast<size_t>(due)]);
          if (random.below(4) > 0) REQUIRE(scan->document().bytes() == stranger(due, 0).bytes());
        }
        REQUIRE(due == (forward ? documents : -1));
      }
    }
  }
}

TEST_CASE("an index that is dropped while a snapshot's cursor walks it leads to all that the snapshot shows") {
  constexpr int documents = 30;
  for (const auto direction : {storage::Direction::forward, storage::Direction::backward}) {
    OnePast world;
    auto& [directory, engine, past, views, collection] = world;
    engine.catalog().create_indexes(collection, {storage::parse_index_spec(bson::json("{key: {a: 1}, name: 'a'}"))});
    std::vector<storage::RecordId> records;
    world.change([&](Transaction& transaction) {
      transaction.expect_stamps(documents);
      for (int i = 0; i < documents; ++i) records.push_back(collection->insert(transaction, document_of(i, {i, i, "text"})).id);
    });
    const auto then = world.as_of(world.declare());
    std::optional<Transaction> transaction(std::in_place, engine, Transaction::Mode::read);
    const auto cursor = then->scan(*transaction, *then->index("a"), direction);
    cursor->seek({});
    std::set<storage::RecordId> found;
    while (found.size() < 10 && cursor->next()) found.insert(cursor->record());
    cursor->save();
    transaction.reset();
    engine.catalog().drop_index(collection, "a");
    world.change([&](Transaction& change) {
      change.expect_stamps(documents);
      for (int i = 0; i < documents; ++i)
        collection->update(change, records[static_cast<size_t>(i)], document_of(i, {i, i, "text"}),
                           document_of(i, {-i, i, "text"}));
    });
    transaction.emplace(engine, Transaction::Mode::read);
    cursor->restore(*transaction);
    while (cursor->next()) CHECK(found.insert(cursor->record()).second);
    CHECK(found == std::set(records.begin(), records.end()));
  }
}

namespace {

struct Interrupted {};

// Checks that `work` asks whether it is interrupted, and ends when it is.
void check_interrupted(const std::function<void()>& work) {
  const base::Interrupted stop = [] { throw Interrupted(); };
  const storage::InterruptibleWaits waits(&stop);
  CHECK_THROWS_AS(work(), Interrupted);
}

}  // namespace

TEST_CASE("a cursor over a snapshot can be interrupted while it passes over what came since") {
  constexpr int documents = 3'000;
  OnePast world;
  auto& [directory, engine, past, views, collection] = world;
  engine.catalog().create_indexes(collection, {storage::parse_index_spec(bson::json("{key: {a: 1}, name: 'a'}"))});
  const auto then = world.as_of(world.declare());
  for (int begin = 0; begin < documents; begin += 500) {
    world.change([&](Transaction& transaction) {
      transaction.expect_stamps(500);
      for (int i = begin; i < begin + 500; ++i) collection->insert(transaction, document_of(i, {i, i, "text"}));
    });
  }
  Transaction transaction(engine, Transaction::Mode::read);
  for (const auto direction : {storage::Direction::forward, storage::Direction::backward}) {
    check_interrupted([&] { then->scan(transaction, direction)->next(); });
    for (const char* index : {"a", "_id_"}) {
      const auto cursor = then->scan(transaction, *then->index(index), direction);
      cursor->seek({});
      check_interrupted([&] { cursor->next(); });
    }
  }
  CHECK(then->record_count() == 0);
}

TEST_CASE("a count of a snapshot can be interrupted, and so can who waits for it; it goes on in other transactions") {
  constexpr int documents = 5'000;
  OnePast world;
  auto& [directory, engine, past, views, collection] = world;
  for (int begin = 0; begin < documents; begin += 500) {
    world.change([&](Transaction& transaction) {
      transaction.expect_stamps(500);
      for (int i = begin; i < begin + 500; ++i) collection->insert(transaction, document_of(i, {i, i, "text"}));
    });
  }
  const auto snapshot = world.declare(), other = world.declare();
  const auto then = world.as_of(snapshot), dropped = world.as_of(other);
  check_interrupted([&] { then->record_count(); });
  check_interrupted([&] { then->logical_bytes(); });
  std::promise<void> counts, goes_on;
  std::thread counter([&] {
    bool first = true;
    const base::Interrupted pause = [&] {
      if (!std::exchange(first, false)) return;
      counts.set_value();
      goes_on.get_future().wait();
    };
    const storage::InterruptibleWaits waits(&pause);
    CHECK(then->record_count() == documents);
  });
  counts.get_future().wait();
  check_interrupted([&] { then->record_count(); });
  goes_on.set_value();
  counter.join();
  CHECK(then->record_count() == documents);
  // With its next transaction it learns that the snapshot was dropped.
  bool asked = false;
  const base::Interrupted drop = [&] {
    if (!std::exchange(asked, true)) world.drop(other);
  };
  const storage::InterruptibleWaits waits(&drop);
  CHECK_THROWS_AS(dropped->record_count(), base::OperationError);
}

TEST_CASE("no page table is made of a snapshot that is hardly read") {
  constexpr int documents = 500;
  OnePast world;
  std::vector<storage::RecordId> records;
  for (int i = 0; i < documents; ++i) {
    world.change([&](Transaction& transaction) { records.push_back(world.collection->insert(transaction, stranger(i, 0)).id); });
  }
  std::vector<std::shared_ptr<storage::Collection>> snapshots;
  for (int times = 1; times < 4; ++times) {
    snapshots.push_back(world.as_of(world.declare()));
    for (int i = 0; i < documents; i += times) {
      world.change([&](Transaction& transaction) {
        const auto before = world.collection->find(transaction, records[i], nullptr);
        world.collection->update(transaction, records[i], *before, stranger(i, times));
      });
    }
    if (times == 2) world.past.seal();
  }
  const auto written_last = [](int id, size_t snapshot) {
    int times = 0;
    for (int i = 1; i <= static_cast<int>(snapshot); ++i) times = id % i == 0 ? i : times;
    return times;
  };
  const auto read = [&](size_t snapshot, int id) {
    Transaction transaction(world.store, Transaction::Mode::read);
    const bson::Document due = stranger(id, written_last(id, snapshot));
    REQUIRE(snapshots[snapshot]->find_id(transaction, due["_id"]) == records[id]);
    const auto found = snapshots[snapshot]->find(transaction, records[id]);
    REQUIRE(found);
    CHECK(found->bytes() == due.bytes());
  };
  for (size_t snapshot = 0; snapshot < snapshots.size(); ++snapshot) {
    for (int i = 0; i < 8; ++i) read(snapshot, 7 * i);
  }
  CHECK(world.past.tables_bytes() < 1'000);
  for (size_t snapshot = 0; snapshot < snapshots.size(); ++snapshot) {
    for (int i = 0; i < documents; ++i) read(snapshot, i);
  }
  CHECK(world.past.tables_bytes() > 3 * 1'000);
}
