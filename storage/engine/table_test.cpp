#include <catch2/catch.hpp>

#include <map>

#include "base/random.h"
#include "base/testing.h"
#include "storage/testing/temporary_store.h"

using namespace storage;

namespace {

using Model = std::map<Bytes, Bytes>;

Model read_all(Engine& engine, const Table& table) {
  Transaction transaction(engine, Transaction::Mode::read);
  Model rows;
  TableCursor cursor = table.cursor(transaction);
  while (cursor.next()) rows.emplace(cursor.key(), cursor.value());
  return rows;
}

Bytes random_key(base::Random& random) {
  Bytes key;
  for (uint64_t i = 1 + random.below(3); i > 0; --i) key.push_back(static_cast<char>(random.below(5) * 63));
  return key;
}

}  // namespace

TEST_CASE("a table and an ordered map hold the same after the same work, over reopening") {
  TemporaryDirectory directory;
  Model model;
  base::Random random(7);
  for (int round = 0; round < 3; ++round) {
    Engine engine(test_options(directory.path()));
    const Table table = engine.open_table("things");
    REQUIRE(read_all(engine, table) == model);
    for (int i = 0; i < 400; ++i) {
      Model draft = model;
      Transaction transaction(engine, Transaction::Mode::write);
      for (uint64_t n = random.below(6); n > 0; --n) {
        const Bytes key = random_key(random);
        const Bytes value(random.below(100), static_cast<char>('a' + i % 26));
        switch (random.below(4)) {
          case 0:
            table.put(transaction, key, value);
            draft[key] = value;
            break;
          case 1: REQUIRE(table.insert(transaction, key, value) == draft.emplace(key, value).second); break;
          case 2: REQUIRE(table.remove(transaction, key) == (draft.erase(key) == 1)); break;
          case 3: {
            const auto found = table.get(transaction, key);
            const auto expected = draft.find(key);
            REQUIRE(found.has_value() == (expected != draft.end()));
            if (found) REQUIRE(*found == expected->second);
            TableCursor cursor = table.cursor(transaction);
            const auto after = draft.lower_bound(key);
            REQUIRE(cursor.seek(key) == (after != draft.end()));
            if (after != draft.end()) REQUIRE(cursor.key() == after->first);
            auto before = draft.upper_bound(key);
            REQUIRE(cursor.seek_back(key) == (before != draft.begin()));
            if (before != draft.begin()) REQUIRE(cursor.key() == (--before)->first);
          }
        }
      }
      if (random.below(4) == 0) {
        transaction.rollback();
      } else {
        transaction.commit();
        model = std::move(draft);
      }
    }
    REQUIRE(read_all(engine, table) == model);
  }
}

TEST_CASE("truncate takes a range with its ends away and nothing else") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  in_transaction(engine, [&](Transaction& transaction) {
    for (char c = 'a'; c <= 'z'; ++c) table.put(transaction, Bytes(1, c), "x");
  });
  in_transaction(engine, [&](Transaction& transaction) {
    table.truncate(transaction, "cc", "f");
    table.truncate(transaction, "zz", "zzz");
    table.truncate(transaction, "k1", "k2");
  });
  CHECK(read_all(engine, table).size() == 23);
  CHECK(read_all(engine, table).count("c") == 1);
  CHECK(read_all(engine, table).count("f") == 0);
}

TEST_CASE("a cursor that let go of its row goes on from there, whatever others did meanwhile") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  base::Random random(base::testing::seed());
  Model rows;
  in_transaction(engine, [&](Transaction& transaction) {
    for (int i = 0; i < 300; ++i) {
      const Bytes key = random_key(random);
      table.put(transaction, key, rows[key] = std::to_string(i));
    }
  });
  Transaction reading(engine, Transaction::Mode::read);
  TableCursor cursor = table.cursor(reading), idle = table.cursor(reading);
  REQUIRE(cursor.next());
  auto at = rows.cbegin();
  for (int i = 0; i < 3000; ++i) {
    if (random.below(3) == 0) reading.let_go_of_pages();
    if (random.below(20) == 0) {
      in_transaction(engine, [&](Transaction& writing) {
        const Bytes key = random_key(random);
        if (random.below(2))
          table.put(writing, key, "later");
        else
          table.remove(writing, key);
      });
    }
    switch (random.below(6)) {
      case 0: {
        const Bytes key = random_key(random);
        at = rows.lower_bound(key);
        if (cursor.seek(key) != (at != rows.cend())) FAIL("seek");
        break;
      }
      case 1: {
        const Bytes key = random_key(random);
        at = rows.upper_bound(key);
        const bool there = at != rows.cbegin();
        if (there) --at;
        if (cursor.seek_back(key) != there) FAIL("seek_back");
        if (!there) at = rows.cend();
        break;
      }
      case 2:
        if (at == rows.cbegin()) continue;
        CHECK(cursor.previous());
        --at;
        break;
      default: CHECK(cursor.next() == (std::next(at) != rows.cend())); ++at;
    }
    if (at == rows.cend()) {  // a cursor behind the end starts anew
      cursor.reset();
      REQUIRE(cursor.next());
      at = rows.cbegin();
    }
    if (random.below(4) == 0) reading.let_go_of_pages();
    CHECK(cursor.key() == at->first);
    CHECK(cursor.value() == at->second);
  }
  CHECK(idle.next());
  CHECK(idle.key() == rows.begin()->first);
}

TEST_CASE("a cursor may outlive its transaction, and the next one gets it") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, "a", "1"); });
  std::vector<TableCursor> kept;
  for (int i = 0; i < 3; ++i) {
    Transaction transaction(engine, Transaction::Mode::read);
    for (int j = 0; j < 3; ++j) {
      kept.push_back(table.cursor(transaction));
      REQUIRE(kept.back().next());
    }
    kept.erase(kept.end() - 2);
    REQUIRE(kept.back().seek("a"));
  }
  kept.clear();
  CHECK(read_all(engine, table).size() == 1);
}

TEST_CASE("record keys sort as their numbers") {
  base::Random random(1);
  RecordId last = 0;
  for (int i = 0; i < 10000; ++i) {
    const auto id = static_cast<RecordId>(random() >> (1 + random.below(63)));
    REQUIRE(record_from_key(record_key(id)) == id);
    REQUIRE((record_key(id) < record_key(last)) == (id < last));
    last = id;
  }
  CHECK(record_key(record_id_max).size() == 9);
}
