#include "replication/applier.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <thread>

#include "base/random.h"
#include "bson/json.h"
#include "replication/test_support.h"
#include "storage/indexes/index_options.h"
#include "storage/testing/temporary_store.h"

using namespace replication;
using namespace replication::test;
using bson::json;
using storage::Direction;
using storage::Stamp;
using storage::Store;
using storage::TemporaryDirectory;
using storage::Transaction;

namespace {

// Does to a member what users do.
class User {
 public:
  User(Member& member, uint64_t seed) : member_(member), random_(seed), catalog_(member.store.catalog()) {}

  void act() {
    try {
      const uint64_t what = random_.below(100);
      if (what < 80) {
        some_writes();
      } else if (what < 90) {
        session_write();
      } else {
        schema();
      }
    } catch (const base::OperationError& error) {
      REQUIRE(expected(error.code()));
    }
  }

 private:
  static bool expected(base::ErrorCode code) {
    using enum base::ErrorCode;
    for (const auto one : {duplicate_key, namespace_exists, namespace_not_found, index_options_conflict, index_key_specs_conflict,
                           index_not_found, illegal_operation, invalid_options}) {
      if (code == one) return true;
    }
    UNSCOPED_INFO(static_cast<int>(code));
    return false;
  }
  std::string number(uint64_t below) { return std::to_string(random_.below(below)); }
  std::string name() { return (random_.below(4) ? "shop.c" : "store.c") + number(4); }
  bson::Document document(const std::string& id) {
    const std::string tags = random_.below(3) ? number(50) : "[" + number(50) + ", " + number(50) + "]";
    return json("{_id: " + id + ", n: " + number(40) + ", tags: " + tags + ", pad: '" + std::string(random_.below(900), 'p') +
                "', k" + number(3) + ": 1}");
  }

  std::shared_ptr<storage::Collection> some_collection() { return catalog_.open_or_create(name()); }

  void some_writes() {
    const auto collection = some_collection();
    const size_t writes = 1 + random_.below(6);
    const std::shared_lock schema(collection->schema_mutex());
    const uint64_t seed = random_();
    member_.write([&](Transaction& transaction) {
      random_ = base::Random(seed);
      for (size_t i = 0; i < writes; ++i) {
        try {
          write_one(transaction, *collection, nullptr);
        } catch (const storage::WriteConflict&) {
          throw;
        } catch (const base::OperationError& error) {
          REQUIRE(error.code() == base::ErrorCode::duplicate_key);
        }
      }
    });
  }

  Stamp write_one(Transaction& transaction, storage::Collection& collection, SessionWrite* session,
                  std::optional<bson::Document>* image = nullptr) {
    const auto after = document(number(25));
    const auto record = collection.find_id(transaction, after["_id"]);
    if (session && !record) session->image = SessionWrite::Image::none;
    if (!record) return member_.committer.insert(transaction, collection, after, session).generation;
    const auto before = *collection.find(transaction, *record);
    if (image && session->image != SessionWrite::Image::none)
      *image = session->image == SessionWrite::Image::before ? before : after;
    if (!(session && session->image == SessionWrite::Image::after) && random_.below(4) == 0) {
      return member_.committer.remove(transaction, collection, *record, before, session);
    }
    return member_.committer.update(transaction, collection, *record, before, after,
                                    random_.below(2) ? UpdateForm::smallest : UpdateForm::replacement, session);
  }

  void session_write() {
    const Bytes session(SessionWrite::id_bytes, static_cast<char>('a' + random_.below(5)));
    const auto history = member_.sessions.check_out(session, ++txn_, [] {});
    const auto collection = some_collection();
    const std::shared_lock schema(collection->schema_mutex());
    const auto kind = static_cast<SessionWrite::Image>(random_.below(3));
    const int statements = 1 + static_cast<int>(random_.below(3));
    const uint64_t seed = random_();
    member_.write([&](Transaction& transaction) {
      random_ = base::Random(seed);
      history->begin();
      for (int i = 0; i < statements; ++i) {
        std::optional<bson::Document> image;
        SessionWrite write = history->next(i, kind);
        history->wrote(i, {write_one(transaction, *collection, &write, &image), 1});
        if (image) history->keep_image(transaction, kind, *image);
      }
      history->save(transaction);
    });
  }

  void schema() {
    switch (random_.below(9)) {
      case 0: {
        storage::CollectionOptions options;
        if (random_.below(2)) {
          const std::string size = std::to_string(4096 + random_.below(4000)), max = number(30);
          options.document = json("{capped: true, size: " + size + ", max: " + max + "}");
          options.capped = true;
          options.capped_bytes = std::stoll(size);
          options.capped_records = std::stoll(max);
        } else {
          options.document = json("{dedup: {enabled: false}}");
        }
        catalog_.create(name(), options);
        return;
      }
      case 1: catalog_.drop(name()); return;
      case 2:
        if (random_.below(3) == 0) catalog_.drop_database(random_.below(2) ? "shop" : "store");
        return;
      case 3: catalog_.rename(name(), name(), random_.below(2)); return;
      case 4:
      case 5: {
        const char* kinds[] = {"{key: {n: 1}, name: 'n_1', unique: true}", "{key: {tags: 1}, name: 'tags_1'}",
                               "{key: {n: -1, tags: 1}, name: 'both'}",
                               "{key: {k1: 1}, name: 'k1', sparse: true, expireAfterSeconds: 100000}"};
        std::vector<storage::IndexSpec> specs;
        for (uint64_t i = 1 + random_.below(2); i > 0; --i)
          specs.push_back(storage::parse_index_spec(json(kinds[random_.below(4)])));
        catalog_.create_indexes(some_collection(), specs);
        return;
      }
      case 6: {
        const auto collection = some_collection();
        const auto indexes = collection->indexes();
        catalog_.drop_index(collection, indexes[random_.below(indexes.size())]->spec().name);
        return;
      }
      case 7: {
        const auto collection = some_collection();
        const auto indexes = collection->indexes();
        storage::IndexSpec spec = indexes[random_.below(indexes.size())]->spec();
        if (spec.name == "_id_") return;
        if (spec.expire_after_seconds) storage::set_expiry(spec, static_cast<int64_t>(random_.below(100000)));
        storage::set_hidden(spec, random_.below(2));
        catalog_.alter_index(collection, spec);
        return;
      }
      default: catalog_.alter_options(some_collection(), json("{dedup: {enabled: true, key: 'n'}}"));
    }
  }

  Member& member_;
  base::Random random_;
  storage::Catalog& catalog_;
  int64_t txn_ = 0;
};

}  // namespace

TEST_CASE("a member that applies the log becomes like the one that wrote it, whatever users do") {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    INFO("seed " << seed);
    TemporaryDirectory at_a, at_b;
    Member a(at_a.path()), b(at_b.path());
    User user(a, seed);
    base::Random random(seed + 100);
    Stamp from = 1;
    for (int round = 0; round < 12; ++round) {
      for (int i = 0; i < 60; ++i) user.act();
      for (;;) {
        const auto records = sent(a, a.records(from, 1 + random.below(20000)));
        if (records.empty()) break;
        b.applier.apply(records);
        if (random.below(4) == 0) b.applier.apply(records);  // again, as after a restart
        from = records.back().last() + 1;
      }
      if (round % 4 == 3) require_same(a, b);
    }
    require_valid(b);
  }
}

TEST_CASE("writers who come at the same time leave a log that gives the same everywhere") {
  TemporaryDirectory at_a, at_b;
  Member a(at_a.path()), b(at_b.path());
  storage::CollectionOptions capped;
  capped.document = json("{capped: true, size: 64000, max: 1500}");
  capped.capped = true;
  capped.capped_bytes = 64000;
  capped.capped_records = 1500;
  const auto last = a.store.catalog().create("shop.last", capped);
  const auto things = a.store.catalog().create("shop.things", {});
  a.store.catalog().create_indexes(things, {storage::parse_index_spec(json("{key: {n: 1}, name: 'n_1', unique: true}"))});
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      base::Random random(static_cast<uint64_t>(t) + 7);
      for (int i = 0; i < 150; ++i) {
        const uint64_t seed = random();
        a.write([&](Transaction& transaction) {
          base::Random mine(seed);
          for (int j = 0; j < 4; ++j) {
            const auto after = json("{_id: " + std::to_string(mine.below(30)) + ", n: " + std::to_string(mine.below(40)) + "}");
            try {
              const auto record = things->find_id(transaction, after["_id"]);
              if (!record) {
                a.committer.insert(transaction, *things, after);
              } else if (mine.below(3)) {
                a.committer.update(transaction, *things, *record, *things->find(transaction, *record), after);
              } else {
                a.committer.remove(transaction, *things, *record, *things->find(transaction, *record));
              }
            } catch (const storage::WriteConflict&) {
              throw;
            } catch (const base::OperationError& error) {
              if (error.code() != base::ErrorCode::duplicate_key) throw;
            }
          }
        });
        a.write([&](Transaction& transaction) {
          for (int j = 0; j < 3; ++j) {
            if (i % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));  // others come in between
            a.committer.insert(transaction, *last, json("{_id: " + std::to_string(t * 1000 + 3 * i + j) + "}"));
          }
        });
      }
    });
  }
  Stamp from = 1;
  const auto pump = [&] {
    for (;;) {
      const auto records = sent(a.records(from, 10000));
      if (records.empty()) return;
      from = records.back().last() + 1;
      b.applier.apply(records);
    }
  };
  for (int i = 0; i < 20; ++i) pump();
  for (auto& writer : writers) writer.join();
  pump();
  const auto transactions = a.records();
  for (size_t i = 1; i < transactions.size(); ++i) REQUIRE(transactions[i].first() > transactions[i - 1].last());
  require_same(a, b);
  require_valid(b);
}

TEST_CASE("after a restart what a checkpoint held is passed over and the rest is replayed") {
  TemporaryDirectory at_a, at_b;
  Member a(at_a.path());
  User user(a, 42);
  for (int i = 0; i < 200; ++i) user.act();
  const auto records = sent(a, a.records());
  for (const size_t held : {size_t{0}, records.size() / 3, records.size() / 2}) {
    {
      Member b(at_b.path());
      b.applier.apply(records);  // all of it, as far as it isn't there yet
      require_same(a, b);
      if (held > 0) b.store.engine().set_majority_committed(records[held].last());
    }
    Member b(at_b.path());
    b.applier.apply(records);
    require_same(a, b);
    require_valid(b);
  }
}

TEST_CASE("a retry after a fail-over finds what was executed") {
  TemporaryDirectory at_a, at_b;
  Member a(at_a.path()), b(at_b.path());
  const Bytes session(SessionWrite::id_bytes, 's');
  const auto write = [&](Member& member, int64_t number, int32_t statement) {
    const auto history = member.sessions.check_out(session, number, [] {});
    if (history->executed(statement)) return false;
    const auto collection = member.store.catalog().open_or_create("t.c");
    member.write([&](Transaction& transaction) {
      history->begin();
      const SessionWrite as = history->next(statement);
      history->wrote(
          statement,
          {member.committer.insert(transaction, *collection, json("{_id: " + std::to_string(number * 10 + statement) + "}"), &as)
               .generation,
           1});
      history->save(transaction);
    });
    return true;
  };
  CHECK(write(a, 1, 0));
  b.applier.apply(sent(a.records()));
  CHECK_FALSE(write(b, 1, 0));  // and b has it in memory now
  CHECK(write(a, 1, 1));
  CHECK(write(a, 2, 0));
  b.applier.apply(sent(a.records()));
  CHECK_FALSE(write(b, 2, 0));
  CHECK(write(b, 2, 1));
  b.sessions.check_out(session, 2, [] {});
  CHECK(b.store.catalog().open("t.c")->record_count() == 4);
}

TEST_CASE("a session that is forgotten is forgotten on all members") {
  TemporaryDirectory at_a, at_b;
  Member a(at_a.path()), b(at_b.path());
  const auto collection = a.store.catalog().create("t.c", {});
  for (const char name : {'x', 'y', 'x'}) {
    const Bytes session(SessionWrite::id_bytes, name);
    auto history = a.sessions.check_out(session, 1, [] {});
    a.write([&](Transaction& transaction) {
      history->begin();
      const auto statement = static_cast<int32_t>(collection->record_count());
      const SessionWrite as = history->next(statement);
      history->wrote(
          statement,
          {a.committer.insert(transaction, *collection, json("{_id: " + std::to_string(statement) + "}"), &as).generation, 1});
      history->save(transaction);
    });
    history.reset();
    if (name == 'y') CHECK(a.sessions.expire(a.committer, INT64_MAX, [](BytesView) { return false; }) == 2);
  }
  b.applier.apply(sent(a.records()));  // in one batch, the writes before and behind
  CHECK(b.store.catalog().open(session_records_ns)->record_count() == 1);
  require_same(a, b);
}

TEST_CASE("an entry that doesn't fit what is here is named and changes nothing") {
  TemporaryDirectory at_a, at_b;
  Member a(at_a.path()), b(at_b.path());
  const auto collection = a.store.catalog().create("shop.orders", {});
  storage::RecordId record = 0;
  a.write([&](Transaction& t) {
    record = a.committer.insert(t, *collection, json("{_id: 7, a: 1, pad: 'ppppppppppppppppppppppppppppppppppppppppppp'}")).id;
  });
  a.write([&](Transaction& t) {
    a.committer.update(t, *collection, record, *collection->find(t, record),
                       json("{_id: 7, a: 2, pad: 'ppppppppppppppppppppppppppppppppppppppppppp'}"));
  });
  const auto records = sent(a.records());
  REQUIRE(records.size() == 3);
  const auto message = [&](const std::vector<LogRecord>& some) -> std::string {
    try {
      b.applier.apply(some);
    } catch (const base::OperationError& error) {
      CHECK(error.code() == base::ErrorCode::data_corruption_detected);
      return error.what();
    }
    return "";
  };
  CHECK(message({records[1]}).find("there is no such collection") != std::string::npos);
  CHECK(message({records[0]}).empty());
  const std::string missing = message({records[2]});
  CHECK(missing.find("shop.orders") != std::string::npos);
  CHECK(missing.find("_id 7") != std::string::npos);
  CHECK(missing.find("Timestamp(") != std::string::npos);
  CHECK_FALSE(b.oplog.passed(records[2].first()));
  CHECK(message({records[1]}).empty());
  const auto other = b.store.catalog().open("shop.orders");
  b.write([&](Transaction& t) {
    other->remove(t, *other->find_id(t, json("{_id: 7}")["_id"]), *other->find(t, *other->find_id(t, json("{_id: 7}")["_id"])));
  });
  CHECK(message({records[2]}).find("there is no such document") != std::string::npos);
}

namespace {

bson::Document big(int id, const std::string& what) {
  base::Random random(static_cast<uint64_t>(id) + 1);
  std::string text = what;
  while (text.size() < 3000) text += std::to_string(random());
  return json("{_id: " + std::to_string(id) + ", text: '" + text + "'}");
}

void replace(Member& member, const std::string& ns, const bson::Document& after) {
  const auto collection = member.store.catalog().open(ns);
  member.write([&](Transaction& t) {
    const auto record = collection->find_id(t, after["_id"]);
    member.committer.update(t, *collection, *record, *collection->find(t, *record), after, UpdateForm::replacement);
  });
}

// `member` leads from here on: is its next content of this document a delta, and do others make the same of it?
void require_warm(Member& member, Member& other, const bson::Document& after) {
  const Stamp from = member.store.engine().all_committed();
  member.applier.forward().lead();
  replace(member, "t.c", after);
  const int64_t deltas = member.applier.forward().figures().deltas.get();
  const auto records = sent(member, member.records(from));
  CHECK(member.applier.forward().figures().deltas.get() == deltas + 1);
  other.applier.apply(records);
  require_same(member, other);
}

}  // namespace

TEST_CASE("a member that takes over makes deltas of what it had before a schema changed, or went by again") {
  TemporaryDirectory at_a, at_b;
  Member a(at_a.path()), b(at_b.path());
  const auto collection = a.store.catalog().create("t.c", {});
  a.write([&](Transaction& t) { a.committer.insert(t, *collection, big(1, "first")); });
  replace(a, "t.c", big(1, "second"));
  std::vector<LogRecord> records;
  SECTION("another collection is made") {
    a.store.catalog().create("t.other", {});
    records = sent(a, a.records());
    b.applier.apply(records);
  }
  SECTION("what is here goes by once more") {
    records = sent(a, a.records());
    b.applier.apply(records);
    b.applier.apply(records);
    CHECK(b.applier.forward().figures().decoded.get() == 2);
  }
  require_warm(b, a, big(1, "third"));
}

TEST_CASE("what goes by of a collection that is gone leaves no base behind that is out of date") {
  TemporaryDirectory at_a, at_b;
  Member a(at_a.path()), b(at_b.path());
  for (const char* ns : {"t.c", "t.gone"}) {
    const auto collection = a.store.catalog().create(ns, {});
    a.write([&](Transaction& t) { a.committer.insert(t, *collection, big(1, "first")); });
    replace(a, ns, big(1, "second"));
  }
  a.store.catalog().drop("t.gone");
  const auto records = sent(a, a.records());
  b.applier.apply(records);
  b.applier.apply(records);
  replace(a, "t.c", big(1, "third"));
  b.applier.apply(sent(a.records(records.back().last() + 1)));
  require_warm(b, a, big(1, "fourth"));
}

TEST_CASE("a batch that conflicts with another writer is replayed, with its deltas") {
  TemporaryDirectory at_a, at_b;
  Member a(at_a.path()), b(at_b.path());
  const auto collection = a.store.catalog().create("t.c", {});
  a.write([&](Transaction& t) { a.committer.insert(t, *collection, json("{_id: 9}")); });
  b.applier.apply(sent(a, a.records()));
  const Stamp from = a.records().back().last() + 1;
  a.write([&](Transaction& t) { a.committer.insert(t, *collection, big(1, "first")); });
  replace(a, "t.c", big(1, "second"));
  replace(a, "t.c", big(1, "third"));
  replace(a, "t.c", json("{_id: 9, b: 1}"));
  const auto records = sent(a, a.records(from));
  std::thread applies;
  {
    Transaction other(b.store, Transaction::Mode::write);
    const auto here = b.store.catalog().open("t.c");
    const auto record = here->find_id(other, json("{_id: 9}")["_id"]);
    here->update(other, *record, json("{_id: 9}"), json("{_id: 9, c: 1}"));
    applies = std::thread([&] { b.applier.apply(records); });
    while (b.applier.forward().figures().decoded.get() < 4) std::this_thread::yield();  // two in each round
  }
  applies.join();
  require_same(a, b);
  require_warm(b, a, big(1, "fourth"));
}

namespace {

// Inserts documents of a megabyte each in one client's transaction of the session.
void large_transaction(Member& member, BytesView session, int64_t number, int from, int count) {
  const auto collection = member.store.catalog().open_or_create("shop.large");
  const auto history = member.sessions.check_out(session, number, [] {});
  const std::shared_lock schema(collection->schema_mutex());
  member.write([&](Transaction& transaction) {
    transaction.expect_stamps(static_cast<uint64_t>(count));
    history->begin();
    Stamp last = 0;
    for (int i = 0; i < count; ++i) {
      const SessionWrite write = history->transaction_part(i == count - 1);
      const auto document =
          json("{_id: " + std::to_string(from + i) + ", text: '" + text_of(static_cast<uint64_t>(from + i), 50'000) + "'}");
      last = member.committer.insert(transaction, *collection, document, &write).generation;
    }
    history->ended_transaction({last, 1});
    history->save(transaction);
  });
}

}  // namespace

TEST_CASE("a large transaction travels in parts and is applied with the last") {
  TemporaryDirectory first, second;
  Member a(first.path()), b(second.path());
  const Bytes session(SessionWrite::id_bytes, 's');
  large_transaction(a, session, 7, 0, 20);
  auto records = sent(a, a.records());
  REQUIRE(records.size() > 3);
  const auto part = std::find_if(records.begin(), records.end(), [](const LogRecord& record) { return record.goes_on; });
  REQUIRE(part != records.end());
  CHECK_FALSE(records.back().goes_on);
  // The records arrive one by one, as they may.
  const LogRecord last = records.back();
  records.pop_back();
  for (const LogRecord& record : records) b.applier.apply({record});
  CHECK(documents_of(b.store, *b.store.catalog().open("shop.large")).empty());
  b.applier.apply({last});
  require_same(a, b);
  require_valid(b);
  CHECK(b.sessions.committed_transaction(session, 7, [] {}) == a.sessions.committed_transaction(session, 7, [] {}));
  CHECK(b.sessions.committed_transaction(session, 7, [] {}).has_value());
  CHECK_FALSE(b.sessions.committed_transaction(session, 8, [] {}).has_value());
  // They may come once more after a restart.
  b.applier.apply(sent(a.records()));
  require_same(a, b);
}

TEST_CASE("parts whose end never came are forgotten") {
  TemporaryDirectory first, second;
  Member a(first.path()), b(second.path());
  large_transaction(a, Bytes(SessionWrite::id_bytes, 's'), 1, 0, 20);
  auto records = sent(a.records());
  while (!records.empty() && !records.back().goes_on) records.pop_back();
  REQUIRE_FALSE(records.empty());
  b.applier.apply(records);
  const Stamp newest = records.back().last();
  const auto later = b.store.catalog().open("shop.large");
  CHECK(documents_of(b.store, *later).empty());
  SECTION("when the member leads itself") {
    CHECK(b.applier.drop_parts() == newest);
    CHECK(b.applier.drop_parts() == 0);
  }
  SECTION("when another member leads") {
    TemporaryDirectory third;
    Member c(third.path());
    c.applier.apply(sent(a.records(1, 1)));  // the collection alone
    c.store.engine().raise_stamp(newest);
    const auto collection = c.store.catalog().open("shop.large");
    c.write([&](Transaction& transaction) { c.committer.insert(transaction, *collection, json("{_id: 'other'}")); });
    b.applier.apply(sent(c.records(newest + 1)));
    CHECK(documents_of(b.store, *later).size() == 1);
    require_valid(b);
  }
}
