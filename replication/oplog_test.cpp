#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "bson/diff.h"
#include "bson/json.h"
#include "replication/committer.h"
#include "storage/testing/temporary_store.h"

using namespace replication;
using bson::json;
using storage::Direction;
using storage::Store;
using storage::TemporaryDirectory;
using storage::Transaction;

namespace {

constexpr uint64_t plenty = 100 << 20;

struct Node {
  explicit Node(const std::string& path, uint64_t oplog_bytes = plenty)
      : store(options(path)), oplog(store, oplog_bytes), committer(store, oplog, base::system_clock()) {}
  static storage::StoreOptions options(const std::string& path) {
    storage::StoreOptions options = storage::test_options(path);
    options.dedup.enabled = false;
    return options;
  }
  Store store;
  Oplog oplog;
  LocalCommitter committer;
};

std::vector<bson::Document> read_log(Store& store, Direction direction = Direction::forward) {
  Transaction transaction(store, Transaction::Mode::read);
  const auto scan = store.catalog().open(oplog_ns)->scan(transaction, direction);
  std::vector<bson::Document> entries;
  while (scan->next()) entries.emplace_back(scan->document());
  return entries;
}

// The contents that a secondary would make of the log.
using Contents = std::map<std::string, std::map<std::string, bson::Document>>;  // ns -> _id -> document

std::string id_text(bson::DocumentView document) {
  return bson::to_json(static_cast<bson::ValueView>(document["_id"]));
}

Contents replay(const std::vector<bson::Document>& log) {
  Contents contents;
  for (const bson::Document& entry : log) {
    const std::string ns(entry["ns"].as_string());
    const bson::DocumentView o = entry["o"].as_document();
    const char op = entry["op"].as_string()[0];
    if (op == 'i') contents[ns].emplace(id_text(o), bson::Document(o));
    if (op == 'd') contents[ns].erase(id_text(o));
    if (op == 'u') {
      auto& document = contents[ns].at(id_text(entry["o2"].as_document()));
      document = o.has("diff") ? bson::diff::apply(document, o["diff"].as_document()).or_throw() : bson::Document(o);
    }
    if (op == 'c' && o.has("drop")) contents.erase(ns.substr(0, ns.find('.')) + "." + std::string(o["drop"].as_string()));
  }
  return contents;
}

Contents read_collections(Store& store, const std::string& db) {
  Contents contents;
  for (const auto& collection : store.catalog().collections(db)) {
    Transaction transaction(store, Transaction::Mode::read);
    const auto scan = collection->scan(transaction, Direction::forward);
    auto& documents = contents[collection->ns()];
    while (scan->next()) documents.emplace(id_text(scan->document()), bson::Document(scan->document()));
  }
  return contents;
}

bool same(const Contents& a, const Contents& b) {
  const auto bytes = [](const Contents& contents) {
    std::map<std::string, std::map<std::string, std::string>> all;
    for (const auto& [ns, documents] : contents) {
      for (const auto& [id, document] : documents) all[ns][id] = document.bytes();
    }
    return all;
  };
  return bytes(a) == bytes(b);
}

}  // namespace

TEST_CASE("entries look as MongoDB writes them") {
  TemporaryDirectory directory;
  Node node(directory.path());
  const auto collection = node.store.catalog().create("shop.orders", {});
  const auto before = json("{_id: 7, a: 1, pad: 'pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp'}");
  const auto after = json("{_id: 7, a: 2, pad: 'pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp'}");
  storage::RecordId record = 0;
  storage::in_transaction(node.store, [&](Transaction& t) { record = node.committer.insert(t, *collection, before).id; });
  storage::in_transaction(node.store, [&](Transaction& t) { node.committer.update(t, *collection, record, before, after); });
  storage::in_transaction(node.store, [&](Transaction& t) {
    node.committer.update(t, *collection, record, after, json("{_id: 7}"), UpdateForm::replacement);
  });
  storage::in_transaction(node.store, [&](Transaction& t) { node.committer.remove(t, *collection, record, json("{_id: 7}")); });
  const auto log = read_log(node.store);
  REQUIRE(log.size() == 5);
  const auto names = [](const bson::Document& entry) {
    std::string all;
    for (const auto& field : entry) all += std::string(field.name) + " ";
    return all;
  };
  CHECK(names(log[0]) == "op ns ui o ts t v wall ");
  CHECK(log[0]["ns"].as_string() == "shop.$cmd");
  CHECK(log[0]["o"].as_document()["create"].as_string() == "orders");
  CHECK(names(log[1]) == "op ns ui o o2 ts t v wall ");
  CHECK(log[1]["op"].as_string() == "i");
  CHECK(log[1]["o"].as_document().bytes() == before.bytes());
  CHECK(bson::to_json(log[1]["o2"].as_document()) == bson::to_json(json("{_id: 7}")));
  CHECK(log[1]["ui"].as_binary().bytes == collection->uuid_bytes());
  CHECK(log[1]["t"].type() == bson::Type::int64);
  CHECK(log[1]["v"].to_int64() == 2);
  CHECK(bson::to_json(log[2]["o"].as_document()) == bson::to_json(json("{$v: 2, diff: {u: {a: 2}}}")));
  CHECK(log[3]["op"].as_string() == "u");
  CHECK(bson::to_json(log[3]["o"].as_document()) == bson::to_json(json("{_id: 7}")));
  CHECK(log[4]["op"].as_string() == "d");
  CHECK(bson::to_json(log[4]["o"].as_document()) == bson::to_json(json("{_id: 7}")));
  auto backward = read_log(node.store, Direction::backward);
  std::reverse(backward.begin(), backward.end());
  REQUIRE(backward.size() == log.size());
  for (size_t i = 0; i < log.size(); ++i) CHECK(backward[i].bytes() == log[i].bytes());
}

TEST_CASE("replaying the log gives the data, whatever happened to it, also after a crash") {
  TemporaryDirectory directory, copy;
  base::Random random(5);
  for (int round = 0; round < 3; ++round) {
    Node node(directory.path());
    storage::Catalog& catalog = node.store.catalog();
    for (int i = 0; i < 300; ++i) {
      const auto collection = catalog.open_or_create("shop.c" + std::to_string(random.below(3)));
      const std::string id = std::to_string(random.below(30));
      const auto document = json("{_id: " + id + ", n: " + std::to_string(random.below(1000)) + ", pad: '" +
                                 std::string(random.below(200), 'p') + "'}");
      storage::in_transaction(node.store, [&](Transaction& t) {
        const auto record = collection->find_id(t, document["_id"]);
        if (!record) {
          node.committer.insert(t, *collection, document);
          return;
        }
        const auto before = *collection->find(t, *record);
        if (random.below(3) == 0) {
          node.committer.remove(t, *collection, *record, before);
        } else {
          node.committer.update(t, *collection, *record, before, document,
                                random.below(2) ? UpdateForm::smallest : UpdateForm::replacement);
        }
      });
      if (random.below(60) == 0) catalog.drop(collection->ns());
    }
    CHECK(same(replay(read_log(node.store)), read_collections(node.store, "shop")));
    if (round == 2) directory.copy_to(copy);
  }
  Node recovered(copy.path());
  CHECK(same(replay(read_log(recovered.store)), read_collections(recovered.store, "shop")));
  CHECK(recovered.store.engine().last_stamp() >= recovered.oplog.stats().last);
}

TEST_CASE("a tailing reader sees every entry once and in order, however many write") {
  TemporaryDirectory directory;
  Node node(directory.path());
  const auto collection = node.store.catalog().create("shop.orders", {});
  constexpr int threads = 3, documents = 150;
  std::atomic<int> running{threads};
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < documents; ++i) {
        storage::in_transaction(node.store, [&](Transaction& transaction) {
          node.committer.insert(transaction, *collection, json("{_id: " + std::to_string(t * 1000 + i) + "}"));
        });
      }
      --running;
    });
  }
  std::vector<std::string> seen;
  storage::RecordId last = 0;
  bool ordered = true;
  auto transaction = std::make_unique<Transaction>(node.store, Transaction::Mode::read);
  const auto tail = node.store.catalog().open(oplog_ns)->scan(*transaction, Direction::forward);
  for (bool again = true; again;) {
    again = running > 0;
    while (tail->next()) {
      ordered = ordered && tail->record() > last;
      last = tail->record();
      if (tail->document()["op"].as_string() == "i") seen.push_back(id_text(tail->document()["o"].as_document()));
    }
    tail->save();
    transaction = std::make_unique<Transaction>(node.store, Transaction::Mode::read);
    tail->restore(*transaction);
  }
  while (tail->next()) seen.push_back(id_text(tail->document()["o"].as_document()));
  for (auto& writer : writers) writer.join();
  CHECK(ordered);
  CHECK(seen.size() == threads * documents);
  std::sort(seen.begin(), seen.end());
  CHECK(std::unique(seen.begin(), seen.end()) == seen.end());
}

TEST_CASE("a scan of the log may begin at a timestamp") {
  TemporaryDirectory directory;
  Node node(directory.path());
  const auto collection = node.store.catalog().create("shop.orders", {});
  std::vector<storage::Stamp> stamps;
  for (int i = 0; i < 10; ++i) {
    storage::in_transaction(node.store, [&](Transaction& t) {
      stamps.push_back(node.committer.insert(t, *collection, json("{_id: " + std::to_string(i) + "}")).generation);
    });
  }
  Transaction transaction(node.store, Transaction::Mode::read);
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    const auto scan = node.oplog.collection()->scan(transaction, direction);
    scan->seek(static_cast<storage::RecordId>(stamps[4]));
    REQUIRE(scan->next());
    CHECK(scan->document()["o"].as_document()["_id"].to_int64() == 4);
    int more = 0;
    while (scan->next()) ++more;
    CHECK(more == (direction == Direction::forward ? 5 : 5));  // backward: four inserts and the create
  }
  CHECK(node.oplog.collection()
            ->find(transaction, static_cast<storage::RecordId>(stamps[3]))
            ->view()["o"]
            .as_document()["_id"]
            .to_int64() == 3);
}

TEST_CASE("the log is cut at its oldest end when it outgrows its size, and readers that stood there are told") {
  TemporaryDirectory directory;
  int64_t entries = 0;
  {
    Node node(directory.path(), 1 << 20);
    storage::CollectionOptions capped;  // its entries carry their documents
    capped.capped = true;
    capped.capped_bytes = 10000;
    const auto collection = node.store.catalog().create("shop.log", capped);
    auto transaction = std::make_unique<Transaction>(node.store, Transaction::Mode::read);
    const auto tail = node.oplog.collection()->scan(*transaction, Direction::forward);
    REQUIRE(tail->next());
    tail->save();
    transaction.reset();
    for (int i = 0; i < 3000; ++i) {
      storage::in_transaction(node.store, [&](Transaction& t) {
        node.committer.insert(t, *collection, json("{_id: " + std::to_string(i) + ", pad: '" + std::string(1000, 'p') + "'}"));
      });
      if (i % 500 == 0) node.oplog.tend();
    }
    node.oplog.tend();
    const OplogStats stats = node.oplog.stats();
    CHECK(stats.stored_bytes <= (1 << 20) + (300 << 10));
    CHECK(stats.stored_bytes > 500 << 10);
    CHECK(stats.logical_bytes > stats.entries * 500);
    entries = stats.entries;
    CHECK(static_cast<int64_t>(read_log(node.store).size()) == entries);
    transaction = std::make_unique<Transaction>(node.store, Transaction::Mode::read);
    CHECK_THROWS_AS(tail->restore(*transaction), base::OperationError);
  }
  Node node(directory.path(), 1 << 20);
  CHECK(node.oplog.stats().entries == entries);
}

TEST_CASE("the log's own documents are counted as they are shown") {
  TemporaryDirectory directory;
  Node node(directory.path());
  const auto collection = node.store.catalog().create("shop.orders", {});
  storage::in_transaction(node.store, [&](Transaction& t) {
    const auto document = json("{_id: ObjectId('0123456789abcdef01234567'), a: 1}");
    const auto stored = node.committer.insert(t, *collection, document);
    node.committer.remove(t, *collection, stored.id, document);
  });
  storage::in_transaction(node.store, [&](Transaction& t) {
    node.committer.insert(t, *collection, json("{_id: ObjectId('0123456789abcdef01234568'), a: 1}"));
  });
  int64_t bytes = 0;
  for (const auto& entry : read_log(node.store)) bytes += static_cast<int64_t>(entry.size());
  CHECK(node.oplog.stats().logical_bytes == bytes);
  CHECK(node.oplog.stats().entries == 4);
  CHECK(node.store.catalog().databases() == std::vector<std::string>{"local", "shop"});
}

TEST_CASE("a damaged entry is reported, never trusted") {
  Bytes value;
  const auto document = json("{_id: 1}");
  Entry entry;
  entry.op = 'i';
  entry.ns = "a.b";
  entry.o = document.view();
  encode(entry, value);
  REQUIRE(decode(value).ok());
  base::Random random(3);
  for (size_t i = 0; i < value.size(); ++i) CHECK_FALSE(decode(BytesView(value).substr(0, i)).ok());
  for (int i = 0; i < 2000; ++i) {
    Bytes broken = value;
    broken[random.below(broken.size())] = static_cast<char>(random());
    decode(broken).ok();
  }
}
