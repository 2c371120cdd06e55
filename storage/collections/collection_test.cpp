#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "base/random.h"
#include "base/testing.h"
#include "bson/builder.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/keystring.h"
#include "storage/indexes/duplicate_key.h"
#include "storage/indexes/index_keys.h"
#include "storage/testing/temporary_store.h"
#include "storage/upkeep/validate.h"

using namespace storage;
using bson::json;
using Mode = Transaction::Mode;

namespace {

// The model maps _id to the document.
using Model = std::map<int, bson::Document>;

bson::Document random_document(base::Random& random, int id) {
  static const char* values[] = {
      "1", "2.5", "'x'", "null", "[]", "[1, 2]", "[[1], 2]", "{c: 1}", "{c: [1, 2]}", "[{c: 1}, {c: 2}, 3]", "{c: [{d: 1}]}"};
  std::string text = "{_id: " + std::to_string(id);
  if (random.below(8) > 0) text += ", a: " + std::to_string(random.below(20));
  if (random.below(8) > 0) text += std::string(", b: ") + values[random.below(std::size(values))];
  text += ", u: " + std::to_string(random.below(60)) + ", pad: '" + std::string(random.below(50), 'p') + "'}";
  return json(text);
}

IndexSpec spec(const std::string& text) {
  return parse_index_spec(json(text));
}

// Returns whether a unique index forbids the document; it looks at every document of the model.
bool breaks_unique(const Model& model, const IndexSpec& index, const bson::Document& document, int id) {
  IndexKeys mine, theirs;
  index_keys(index, document, mine);
  for (const auto& [other, stored] : model) {
    if (other == id) continue;
    index_keys(index, stored, theirs);
    for (const Bytes& key : mine.keys) {
      if (std::binary_search(theirs.keys.begin(), theirs.keys.end(), key)) return true;
    }
  }
  return false;
}

void compare_all(Store& store, Collection& collection, const Model& model) {
  Transaction transaction(store, Mode::read);
  Model seen;
  std::map<int, RecordId> records;
  const auto scan = collection.scan(transaction, Direction::forward);
  while (scan->next()) {
    const int id = static_cast<int>(scan->document()["_id"].to_int64());
    seen.emplace(id, bson::Document(scan->document()));
    records[id] = scan->record();
  }
  REQUIRE(seen.size() == model.size());
  int64_t bytes = 0;
  for (const auto& [id, document] : model) {
    REQUIRE(seen.at(id).bytes() == document.bytes());
    REQUIRE(collection.find_id(transaction, bson::Value(id)) == records.at(id));
    bytes += static_cast<int64_t>(document.size());
  }
  REQUIRE(collection.record_count() == static_cast<int64_t>(model.size()));
  REQUIRE(collection.logical_bytes() == bytes);
  for (const auto& index : collection.indexes()) {
    std::multiset<std::pair<Bytes, RecordId>> expected, found;
    IndexKeys keys;
    for (const auto& [id, document] : model) {
      index_keys(index->spec(), document, keys);
      for (const Bytes& key : keys.keys) expected.emplace(key, records.at(id));
      if (keys.multikey_fields) REQUIRE(index->multikey());
    }
    const auto cursor = collection.scan(transaction, *index, Direction::forward);
    cursor->seek({});
    while (cursor->next()) found.emplace(Bytes(cursor->key()), cursor->record());
    REQUIRE(found == expected);
  }
}

}  // namespace

TEST_CASE("a collection and a map of documents stay the same under random work, conflicts of keys and reopening") {
  TemporaryDirectory directory;
  base::Random random(11);
  Model model;
  const char* specs[] = {"{key: {a: 1}, name: 'a'}", "{key: {b: -1, a: 1}, name: 'ba'}",
                         "{key: {'b.c': 1}, name: 'bc', sparse: true}", "{key: {u: 1}, name: 'u', unique: true}",
                         "{key: {'b.0': 1}, name: 'b0'}"};
  for (int round = 0; round < 4; ++round) {
    Store store(test_options(directory.path()));
    const auto collection = store.catalog().open_or_create("shop.things");
    compare_all(store, *collection, model);
    for (int i = 0; i < 250; ++i) {
      const int id = static_cast<int>(random.below(80));
      const bson::Document document = random_document(random, id);
      const auto unique = collection->index("u");
      const bool refused = unique && breaks_unique(model, unique->spec(), document, id);
      Transaction transaction(store, Mode::write);
      const auto known = model.find(id);
      try {
        if (known == model.end()) {
          collection->insert(transaction, document);
        } else if (random.below(3) == 0) {
          collection->remove(transaction, *collection->find_id(transaction, bson::Value(id)), known->second);
        } else if (random.below(10) == 0) {
          CHECK_THROWS_AS(collection->insert(transaction, document), DuplicateKey);
          transaction.commit();  // the failed call left nothing behind
          continue;
        } else {
          collection->update(transaction, *collection->find_id(transaction, bson::Value(id)), known->second, document);
          REQUIRE_FALSE(refused);
          transaction.commit();
          known->second = document;
          continue;
        }
        transaction.commit();
        if (known == model.end()) {
          REQUIRE_FALSE(refused);
          model.emplace(id, document);
        } else {
          model.erase(known);
        }
      } catch (const DuplicateKey&) {
        REQUIRE(refused);
        transaction.commit();
      }
      if (random.below(25) == 0) {
        const IndexSpec wanted = spec(specs[random.below(std::size(specs))]);
        if (collection->index(wanted.name)) {
          store.catalog().drop_index(collection, wanted.name);
        } else {
          bool impossible = false;
          for (const auto& [other, stored] : model)
            impossible = impossible || (wanted.unique && breaks_unique(model, wanted, stored, other));
          if (impossible) {
            CHECK_THROWS_AS(store.catalog().create_indexes(collection, {wanted}), DuplicateKey);
            CHECK_FALSE(collection->index(wanted.name));
          } else {
            store.catalog().create_indexes(collection, {wanted});
          }
        }
        compare_all(store, *collection, model);
      }
    }
    compare_all(store, *collection, model);
    const ValidateReport report = validate_collection(store, collection, true);
    CHECK(report.valid);
    CHECK(report.errors.empty());
    CHECK(report.records == static_cast<int64_t>(model.size()));
  }
}

TEST_CASE("documents of a few bytes are replaced and removed as any other") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().create("shop.orders", {});
  const bson::Document small = json("{_id: 1}"), large = json("{_id: 1, text: 'more than a few bytes'}");
  REQUIRE(small.view().bytes().size() < 16);  // short enough that a std::string keeps it inside itself
  const auto id = in_transaction(store, [&](Transaction& transaction) { return collection->insert(transaction, small).id; });
  for (int round = 0; round < 3; ++round) {
    in_transaction(store, [&](Transaction& transaction) {
      CHECK(collection->update(transaction, id, small, large).before.bytes == small.view().bytes());
      CHECK(collection->update(transaction, id, large, small).before.bytes == large.view().bytes());
      CHECK(collection->update(transaction, id, small, small).before.bytes == small.view().bytes());
    });
  }
  in_transaction(
      store, [&](Transaction& transaction) { CHECK(collection->remove(transaction, id, small).bytes == small.view().bytes()); });
  CHECK(collection->record_count() == 0);
}

TEST_CASE("a duplicate is reported in MongoDB's words, with pattern and value") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().create("shop.people", {});
  store.catalog().create_indexes(collection, {spec("{key: {name: 1, 'pets.name': -1}, name: 'name_1_pets', unique: true}")});
  in_transaction(store,
                 [&](Transaction& t) { collection->insert(t, json("{_id: 1, name: 'x', pets: [{name: 'a'}, {name: 'b'}]}")); });
  try {
    in_transaction(store,
                   [&](Transaction& t) { collection->insert(t, json("{_id: 2, name: 'x', pets: [{name: 'c'}, {name: 'b'}]}")); });
    FAIL("no error");
  } catch (const DuplicateKey& error) {
    CHECK(std::string(error.what()) ==
          "E11000 duplicate key error collection: shop.people index: name_1_pets dup key: { name: \"x\", pets.name: \"b\" }");
    CHECK(bson::to_json(error.pattern()) == bson::to_json(json("{name: 1, 'pets.name': -1}")));
    CHECK(bson::to_json(error.value()) == bson::to_json(json("{name: 'x', 'pets.name': 'b'}")));
  }
  CHECK(collection->record_count() == 1);
  CHECK(validate_collection(store, collection, false).valid);
}

TEST_CASE("two transactions that insert the same _id: a conflict, then a duplicate") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().create("shop.people", {});
  Transaction first(store, Mode::write);
  collection->insert(first, json("{_id: 1}"));
  {
    Transaction second(store, Mode::write);
    CHECK_THROWS_AS(collection->insert(second, json("{_id: 1.0}")), WriteConflict);
  }
  first.commit();
  Transaction third(store, Mode::write);
  CHECK_THROWS_AS(collection->insert(third, json("{_id: 1.0}")), DuplicateKey);
}

TEST_CASE("concurrent writers of the same documents lose no update, and what readers see has its index entries") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().create("shop.counters", {});
  store.catalog().create_indexes(collection, {spec("{key: {n: 1}, name: 'n'}")});
  constexpr int documents = 3, threads = 3, rounds = 100;
  for (int i = 0; i < documents; ++i) {
    in_transaction(store, [&](Transaction& t) { collection->insert(t, json("{_id: " + std::to_string(i) + ", n: 0}")); });
  }
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        in_transaction(store, [&](Transaction& transaction) {
          const int id = (i + t) % documents;
          const RecordId record = *collection->find_id(transaction, bson::Value(id));
          const auto before = *collection->find(transaction, record);
          const auto after = json("{_id: " + std::to_string(id) + ", n: " + std::to_string(before["n"].to_int64() + 1) + "}");
          collection->update(transaction, record, before, after);
        });
      }
    });
  }
  std::thread reader([&] {
    while (!stop) {
      Transaction transaction(store, Mode::read);
      const auto cursor = collection->scan(transaction, *collection->index("n"), Direction::backward);
      cursor->seek({});
      int entries = 0;
      while (cursor->next()) {
        ++entries;
        const auto document = collection->find(transaction, cursor->record());
        if (!document) std::abort();
        bson::KeyString key;
        key.append(document->view()["n"]);
        if (key.bytes() != cursor->key()) std::abort();
      }
      if (entries != documents) std::abort();
    }
  });
  for (auto& worker : workers) worker.join();
  stop = true;
  reader.join();
  int64_t sum = 0;
  Transaction transaction(store, Mode::read);
  const auto scan = collection->scan(transaction, Direction::forward);
  while (scan->next()) sum += scan->document()["n"].to_int64();
  CHECK(sum == threads * rounds);
}

TEST_CASE("an index range is walked in either direction, and goes on where it was saved") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().create("shop.things", {});
  store.catalog().create_indexes(collection, {spec("{key: {n: 1}, name: 'n'}"), spec("{key: {m: 1}, name: 'm', unique: true}")});
  for (int i = 0; i < 50; ++i) {
    in_transaction(store, [&](Transaction& t) {
      collection->insert(
          t, json("{_id: " + std::to_string(i) + ", n: " + std::to_string(i / 2) + ", m: " + std::to_string(i) + "}"));
    });
  }
  const auto key_of = [](int n, bool after) {
    bson::KeyString key;
    key.append(bson::Value(n));
    after ? key.append_after() : key.append_before();
    return Bytes(key.bytes());
  };
  for (const char* name : {"n", "m"}) {
    const int scale = name[0] == 'n' ? 2 : 1;
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      std::vector<int> expected, found;
      for (int i = 0; i < 50; ++i) {
        if (i / scale >= 5 && i / scale <= 9) expected.push_back(i);
      }
      if (direction == Direction::backward) std::reverse(expected.begin(), expected.end());
      auto transaction = std::make_unique<Transaction>(store, Mode::read);
      const auto cursor = collection->scan(*transaction, *collection->index(name), direction);
      cursor->seek({key_of(5, false), key_of(9, true)});
      int n = 0;
      while (cursor->next()) {
        found.push_back(static_cast<int>(cursor->record()) - 1);
        if (++n % 3 == 0) {
          cursor->save();
          transaction = std::make_unique<Transaction>(store, Mode::read);
          cursor->restore(*transaction);
        }
      }
      CHECK(found == expected);
    }
  }
}

TEST_CASE("a saved index cursor goes on behind an entry that was removed meanwhile") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().create("shop.things", {});
  std::vector<bson::Document> documents;
  for (int i = 0; i < 6; ++i) documents.push_back(json("{_id: " + std::to_string(i) + "}"));
  in_transaction(store, [&](Transaction& t) {
    for (const auto& document : documents) collection->insert(t, document);
  });
  auto transaction = std::make_unique<Transaction>(store, Mode::read);
  const auto index = collection->index("_id_");
  const auto cursor = collection->scan(*transaction, *index, Direction::forward);
  cursor->seek({});
  REQUIRE(cursor->next());
  REQUIRE(cursor->next());
  cursor->save();
  transaction.reset();
  in_transaction(store, [&](Transaction& t) {
    collection->remove(t, 2, documents[1]);
    collection->remove(t, 3, documents[2]);
  });
  transaction = std::make_unique<Transaction>(store, Mode::read);
  cursor->restore(*transaction);
  cursor->save();  // without a step in between
  cursor->restore(*transaction);
  REQUIRE(cursor->next());
  CHECK(cursor->record() == 4);
}

TEST_CASE("a collection scan goes on where it was saved") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().create("shop.things", {});
  for (int i = 0; i < 10; ++i) {
    in_transaction(store, [&](Transaction& t) { collection->insert(t, json("{_id: " + std::to_string(i) + "}")); });
  }
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    auto transaction = std::make_unique<Transaction>(store, Mode::read);
    const auto scan = collection->scan(*transaction, direction);
    std::vector<RecordId> seen;
    while (scan->next()) {
      seen.push_back(scan->record());
      scan->save();
      transaction = std::make_unique<Transaction>(store, Mode::read);
      scan->restore(*transaction);
    }
    CHECK(seen.size() == 10);
    CHECK(std::is_sorted(seen.begin(), seen.end()) == (direction == Direction::forward));
  }
}

TEST_CASE("the limit of a document's keys is for those that this member decides on, and that the document hadn't") {
  TemporaryDirectory directory;
  StoreOptions options = test_options(directory.path());
  options.cache_bytes = uint64_t{1} << 30;
  Store store(options);
  const auto collection = store.catalog().create("shop.things", {});
  store.catalog().create_indexes(collection, {spec("{key: {s: 1, a: 1}, name: 's_a'}")});
  const auto document = [](int n, int numbers) {
    bson::Builder out;
    out.append("_id", 1).append("n", n).append("s", std::string(1 << 20, 's'));
    {
      auto array = out.array("a");
      for (int i = 0; i < numbers; ++i) array.append(i);
    }
    return out.done();
  };
  const auto refused = [](const std::function<void()>& write) {
    CHECK(base::testing::error_of(write) == base::ErrorCode::cannot_build_index_keys);
  };
  constexpr int numbers = 66;  // a key of a megabyte each
  const bson::Document first = document(1, numbers), other = document(2, numbers), more = document(3, numbers + 1);
  refused([&] { in_transaction(store, [&](Transaction& t) { collection->insert(t, first); }); });
  const RecordId record = in_transaction(store, [&](Transaction& t) {
    t.set_next_stamp(t.next_stamp());  // as the log has it
    return collection->insert(t, first).id;
  });
  in_transaction(store, [&](Transaction& t) { collection->update(t, record, first, other); });
  refused([&] { in_transaction(store, [&](Transaction& t) { collection->update(t, record, other, more); }); });
  in_transaction(store, [&](Transaction& t) {
    t.set_next_stamp(t.next_stamp());
    collection->update(t, record, other, more);
  });
  in_transaction(store, [&](Transaction& t) { collection->remove(t, record, more); });
  CHECK(collection->record_count() == 0);
}
