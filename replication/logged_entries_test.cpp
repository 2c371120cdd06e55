#include "replication/logged_entries.h"

#include "replication/test_support.h"

using namespace replication;
using bson::json;

TEST_CASE("the log's copy of a content is what the write made, and never what it changed") {
  storage::TemporaryDirectory directory;
  test::Member member(directory.path());
  const auto collection = member.store.catalog().create("wiki.pages", {});
  const auto newest = [&] { return member.oplog.stats().last; };
  const std::string text(200, 'x');
  const auto document = [&](int n) { return json("{_id: 1, n: " + std::to_string(n) + ", text: '" + text + "'}"); };
  storage::RecordId record = 0;
  const auto update = [&](int from, int to) {
    member.write([&](storage::Transaction& transaction) {
      member.committer.update(transaction, *collection, record, document(from), document(to));
    });
    return newest();
  };
  member.write(
      [&](storage::Transaction& transaction) { record = member.committer.insert(transaction, *collection, document(1)).id; });
  const storage::Stamp inserted = newest();
  LoggedEntries entries(member.store, member.oplog);
  const Bytes uuid = collection->uuid_bytes();
  CHECK_FALSE(entries.copy(uuid, inserted));  // it stands in the collection alone
  const storage::Stamp updated = update(1, 2);
  CHECK(entries.copy(uuid, inserted) == document(1).bytes());
  CHECK_FALSE(entries.copy(Bytes(16, '\0'), inserted));
  CHECK_FALSE(entries.copy(uuid, updated));
  CHECK_FALSE(entries.copy(uuid, updated + 1));
  CHECK(entries.after(updated, document(1))->bytes() == document(2).bytes());
  CHECK_FALSE(entries.after(updated, std::nullopt));
}

TEST_CASE("an entry that names a record says of which collection it is") {
  storage::TemporaryDirectory directory;
  test::Member member(directory.path());
  const auto collection = member.store.catalog().create("wiki.pages", {});
  storage::RecordId record = 0;
  member.write([&](storage::Transaction& transaction) {
    record = member.committer.insert(transaction, *collection, json("{_id: 1, text: '" + std::string(200, 'x') + "'}")).id;
  });
  int named = 0;
  const auto meet = [&](const storage::LoggedEntry& entry) {
    if (entry.kind != storage::LoggedEntry::Kind::names) return;
    ++named;
    CHECK(entry.collection == collection->id());
    CHECK(entry.record == record);
  };
  LoggedEntries(member.store, member.oplog)
      .walk(
          meet, [](const std::string&) { FAIL(); }, nullptr);
  CHECK(named == 1);
}
