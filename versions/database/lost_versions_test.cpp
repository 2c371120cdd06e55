// These tests lose records of a database with branches, and look for their contents in a log and in other records.
#include "versions/database/lost_versions.h"

#include <catch2/catch.hpp>

#include "bson/json.h"
#include "storage/contents/record_store_state.h"
#include "versions/database/test_shop.h"

using namespace versions;
using bson::json;

namespace {

// A log that has what the test tells it.
struct Told final : storage::EntryLog {
  struct Entry {
    storage::LoggedEntry seen;
    std::string ns;
    bson::Document document;
  };
  void walk(const Meet& meet, const MeetHole&, const std::function<void()>&) override {
    for (Entry& one : entries) {
      one.seen.ns = one.ns;
      one.seen.uuid = uuid;
      one.seen.collection = collection;
      one.seen.with_id = one.seen.command = one.document;
      meet(one.seen);
    }
  }
  std::optional<bson::Document> after(Stamp stamp, const std::optional<bson::Document>& before) override {
    ++reads;
    const auto changed = changes.find(stamp);
    if (changed != changes.end() && !(before && before->bytes() == changed->second.bytes())) return std::nullopt;
    const auto at = contents.find(stamp);
    return at == contents.end() ? std::nullopt : std::optional(at->second);
  }

  Bytes uuid;
  storage::CollectionId collection = 0;
  std::vector<Entry> entries;
  std::map<Stamp, bson::Document> contents;
  std::map<Stamp, bson::Document> changes;  // what these entries change, into their contents
  size_t reads = 0;
};

struct Fixture : test::Shop {
  // `collated`: the case of strings doesn't count in `things`.
  explicit Fixture(bool collated = false) : Shop(collated ? "others" : "things") {
    if (collated) {
      storage::CollectionOptions options;
      options.document = json("{collation: {locale: 'en', strength: 2}}");
      storage::read_option_document(options);
      things = Shop::store.catalog().create("shop.things", options);
    }
    log.uuid = things->uuid_bytes();
    log.collection = things->id();
    begin();
    create_dev();
    tell_command(log::BeginBranches{}.encode(), 1);
  }

  storage::Stored write(const std::string& db, const std::string& document) {
    const auto collection = Shop::store.catalog().open(db + ".things");
    const bson::Document after = json(document);
    return storage::in_transaction(Shop::store, [&](Transaction& transaction) {
      const auto old = collection->find_id(transaction, after["_id"]);
      if (!old) return collection->insert(transaction, after);
      const auto updated = collection->update(transaction, *old, *collection->find(transaction, *old, nullptr), after);
      return storage::Stored{updated.record, updated.generation, {}};
    });
  }
  // Writes the document, and the log has it, or names it only.
  storage::Stored write_and_tell(const std::string& db, const std::string& document, bool named = false) {
    const storage::Stored stored = write(db, document);
    tell(stored, db, document, named);
    return stored;
  }
  void tell(const storage::Stored& stored, const std::string& db, const std::string& document, bool named = false) {
    storage::LoggedEntry entry{.kind = named ? storage::LoggedEntry::Kind::names : storage::LoggedEntry::Kind::has,
                               .stamp = stored.generation,
                               .transaction = stored.generation,
                               .record = stored.id};
    log.entries.push_back({entry, db + ".things", json(document)});
    if (!named) log.contents[stored.generation] = json(document);
  }
  // Writes the document, and the log has what that changed.
  storage::Stored change_and_tell(const std::string& db, const std::string& before, const std::string& document) {
    const storage::Stored stored = write_and_tell(db, document);
    log.entries.back().seen.kind = storage::LoggedEntry::Kind::changes;
    log.changes[stored.generation] = json(before);
    return stored;
  }
  void tell_command(const bson::Document& command, Stamp stamp) {
    log.entries.push_back({{.stamp = stamp, .transaction = stamp}, "shop.$cmd", command});
  }
  CommitNumber commit(const std::string& branch) {
    const auto made = Shop::commit(branch);
    log::CommitBranch entry{.branch = branch};
    entry.made.id = made->id;
    tell_command(entry.encode(), log.entries.back().seen.stamp + 1);
    return made->number;
  }
  void lose(RecordId record) {
    change([&](Transaction& transaction) {
      const storage::StoreTables& tables = things->records().state().chains.tables();
      tables.records.remove(transaction, storage::record_key(record));
      tables.packed.remove(transaction, storage::record_key(record));
      tables.heads.remove(transaction, storage::record_key(record));
    });
  }
  // The row that the repair would write for the lost record, or the reason why it writes none.
  struct Found {
    Stamp generation = 0;
    std::string content;
    std::string why_not;
    bool is(const storage::Stored& stored, const std::string& document) const {
      return generation == stored.generation && content == json(document).bytes();
    }
  };
  Found find(RecordId record) { return find_in(Shop::store, database, record); }
  Found find_in(storage::Store& in, const std::shared_ptr<BranchedDatabase>& its_database, RecordId record) {
    LostVersions versions(in, its_database, its_database->versions_of(things->id()), log);
    const auto all = versions.find(*things, {{record, json("{_id: 1}"), "it is lost"}}, nullptr);
    const storage::LoggedDocument& logged = all.at(record);
    if (logged.generation == 0) return {0, {}, logged.why_not};
    auto content = versions.content(record, nullptr);
    return content ? Found{logged.generation, content.value(), {}} : Found{logged.generation, {}, content.failure().message};
  }

  Told log;
};

}  // namespace

TEST_CASE("a record that a commit shows has the content that the log has for the commit") {
  Fixture shop;
  shop.write_and_tell("shop@dev", "{_id: 1, a: 1}");
  const auto committed = shop.write_and_tell("shop@dev", "{_id: 1, a: 2}");
  shop.commit("dev");
  const auto pending = shop.write_and_tell("shop@dev", "{_id: 1, a: 3}");
  REQUIRE(pending.id != committed.id);
  shop.lose(committed.id);
  shop.lose(pending.id);
  CHECK(shop.find(committed.id).is(committed, "{_id: 1, a: 2}"));
  CHECK(shop.find(pending.id).is(pending, "{_id: 1, a: 3}"));
}

TEST_CASE("a content that hasn't the hash which a commit's tree names is not taken") {
  Fixture shop;
  const auto stored = shop.write("shop@dev", "{_id: 1, a: 1}");
  shop.tell(stored, "shop@dev", "{_id: 1, a: 2}");
  shop.commit("dev");
  shop.lose(stored.id);
  const auto found = shop.find(stored.id);
  CHECK(found.content.empty());
  CHECK(found.why_not.find("don't make the content that its commits name") != std::string::npos);
}

TEST_CASE("a content that the log only names is taken from wherever it has the hash") {
  const bool in_log = GENERATE(false, true);
  Fixture shop;
  const auto stored = shop.write_and_tell("shop@dev", "{_id: 1, a: 1}", true);
  shop.commit("dev");
  CHECK(shop.find(stored.id).is(stored, "{_id: 1, a: 1}"));  // it is still there
  shop.lose(stored.id);
  CHECK(shop.find(stored.id).why_not.find("only names its content") != std::string::npos);
  if (in_log)
    shop.lose(shop.write_and_tell("shop", "{_id: 1, a: 1}").id);
  else
    shop.write("shop", "{_id: 1, a: 1}");
  CHECK(shop.find(stored.id).is(stored, "{_id: 1, a: 1}"));
}

TEST_CASE("a pending record has the content of the write that its pending row is of, and of no other") {
  Fixture shop;
  const auto before = shop.write_and_tell("shop@dev", "{_id: 1, a: 1}");
  const auto stored = shop.write("shop@dev", "{_id: 1, a: 2}");
  REQUIRE(stored.id == before.id);
  shop.lose(stored.id);
  CHECK(shop.find(stored.id).generation == 0);
  shop.tell(stored, "shop@dev", "{_id: 1, a: 2}");
  CHECK(shop.find(stored.id).is(stored, "{_id: 1, a: 2}"));
}

TEST_CASE("a record whose commit the log doesn't have is not guessed") {
  Fixture shop;
  const auto stored = shop.write_and_tell("shop@dev", "{_id: 1, a: 1}");
  shop.commit("dev");
  shop.log.entries.pop_back();
  shop.lose(stored.id);
  CHECK(shop.find(stored.id).why_not == "the log doesn't have the write that it came with");
}

TEST_CASE("a record is lost if the trees that name its content can't be read") {
  Fixture shop;
  const auto stored = shop.write_and_tell("shop@dev", "{_id: 1, a: 1}");
  shop.commit("dev");
  shop.lose(stored.id);
  shop.change([&](Transaction& transaction) {
    const storage::Table nodes(shop.database->branches().roots().table_name());
    std::vector<Bytes> keys;
    {
      storage::TableCursor cursor = nodes.cursor(transaction);
      while (cursor.next()) keys.emplace_back(cursor.key());
    }
    for (const Bytes& key : keys) nodes.put(transaction, key, "damaged");
  });
  // The first server has the nodes in memory.
  shop.Shop::store.engine().checkpoint();
  storage::TemporaryDirectory copy;
  shop.directory.copy_to(copy);
  storage::Store store(storage::test_options(copy.path()));
  past::Past past(store);
  Databases databases(store, past);
  const auto database = databases.find("shop");
  CHECK(shop.find_in(store, database, stored.id).why_not == "the trees of the commits that show it can't be read");
}

TEST_CASE("versions that updates made one after the other are made with one look at each entry") {
  constexpr int count = 30;
  const auto document = [](int n) { return "{_id: 1, a: " + std::to_string(n) + "}"; };
  Fixture shop;
  std::vector<storage::Stored> versions{shop.write_and_tell("shop@dev", document(0))};
  shop.commit("dev");
  for (int n = 1; n < count; ++n) {
    versions.push_back(shop.change_and_tell("shop@dev", document(n - 1), document(n)));
    shop.commit("dev");
  }
  std::vector<storage::DamagedDocument> lost;
  for (const storage::Stored& version : versions) {
    shop.lose(version.id);
    lost.push_back({version.id, json("{_id: 1}"), "it is lost"});
  }
  LostVersions log(shop.Shop::store, shop.database, shop.database->versions_of(shop.things->id()), shop.log);
  log.find(*shop.things, lost, nullptr);
  for (int n = 0; n < count; ++n) CHECK(log.content(versions[n].id, nullptr).value() == json(document(n)).bytes());
  CHECK(shop.log.reads == count);
}

TEST_CASE("what is made of many entries can be interrupted") {
  const auto document = [](int n) { return "{_id: 1, a: " + std::to_string(n) + "}"; };
  Fixture shop;
  shop.write_and_tell("shop@dev", document(0));
  storage::Stored stored;
  for (int n = 1; n < 100; ++n) stored = shop.change_and_tell("shop@dev", document(n - 1), document(n));
  shop.lose(stored.id);
  LostVersions log(shop.Shop::store, shop.database, shop.database->versions_of(shop.things->id()), shop.log);
  log.find(*shop.things, {{stored.id, json("{_id: 1}"), "it is lost"}}, nullptr);
  const auto interrupted = [] { throw base::OperationError(base::ErrorCode::interrupted, "operation was interrupted"); };
  CHECK_THROWS_AS(log.content(stored.id, interrupted), base::OperationError);
  CHECK(log.content(stored.id, nullptr).value() == json(document(99)).bytes());
}

TEST_CASE("a write of which the log has another content isn't the record's, whoever has the record's content") {
  Fixture shop;
  const auto stored = shop.write("shop@dev", "{_id: 1, a: 1}");
  shop.tell(stored, "shop@dev", "{_id: 1, a: 2}");
  shop.commit("dev");
  shop.lose(stored.id);
  shop.write_and_tell("shop", "{_id: 1, a: 1}");
  CHECK(shop.find(stored.id).content.empty());
}

TEST_CASE("updates of a content that nobody knows are tried with each other content of the document") {
  const bool too_many = GENERATE(false, true);
  Fixture shop;
  shop.write("shop", "{_id: 1, a: 1}");
  shop.write("shop@dev", "{_id: 1, a: 1}");
  const auto stored = shop.change_and_tell("shop@dev", "{_id: 1, a: 1}", "{_id: 1, a: 2}");
  if (too_many) {
    // The entry stands for ten thousand that change the document to and fro.
    const auto entry = shop.log.entries.back();
    for (int i = 0; i <= 10'000; ++i) shop.log.entries.insert(shop.log.entries.end() - 1, entry);
    shop.log.changes.clear();
  }
  shop.commit("dev");
  shop.lose(stored.id);
  const auto found = shop.find(stored.id);
  if (too_many)
    CHECK(found.why_not == "there are more contents of the document than a repair compares with its commits");
  else
    CHECK(found.is(stored, "{_id: 1, a: 2}"));
}

TEST_CASE("a record that is no document isn't taken for one") {
  Fixture shop;
  const auto stored = shop.write_and_tell("shop@dev", "{_id: 1, a: 1}", true);
  shop.change([&](Transaction& transaction) {
    shop.things->records().update(transaction, stored.id, Bytes("no document"), stored.generation, 0);
  });
  const auto found = shop.find(stored.id);
  CHECK(found.generation == stored.generation);
  CHECK(found.content.empty());
}

TEST_CASE("a document that a collation keeps from being named is found by its record") {
  Fixture shop(true);
  const auto first = shop.write_and_tell("shop", "{_id: 'Ann', n: 1}");
  const auto stored = shop.write_and_tell("shop@dev", "{_id: 'Bob', n: 1}");
  shop.write_and_tell("shop@dev", "{_id: 'Eve', n: 1}");
  shop.commit("dev");
  shop.lose(stored.id);
  LostVersions versions(shop.Shop::store, shop.database, shop.database->versions_of(shop.things->id()), shop.log);
  const auto all = versions.find(*shop.things, {{first.id, {}, "it is lost"}, {stored.id, {}, "it is lost"}}, nullptr);
  REQUIRE(all.at(stored.id).generation == stored.generation);
  CHECK(versions.content(stored.id, nullptr).value() == json("{_id: 'Bob', n: 1}").bytes());
  CHECK(all.at(first.id).generation == first.generation);
}
