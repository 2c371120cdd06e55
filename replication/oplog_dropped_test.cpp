#include <filesystem>

#include "base/testing.h"
#include "replication/logged_change.h"
#include "replication/test_support.h"

namespace replication {
namespace {

using storage::Stamp;
using test::Member;

bson::Document page(int id, const std::string& text) {
  bson::Builder out;
  out.append("_id", id).append("text", text);
  return out.done();
}

Stamp newest(Member& member) {
  return member.store.engine().all_committed() - 1;
}

bool has_files(Member& member, storage::CollectionId id) {
  return std::filesystem::exists(member.store.options().path + "/records-" + std::to_string(id) + ".wt");
}

// The documents that the log's inserts and replacements have, by their timestamps.
std::map<Stamp, Bytes> logged(Member& member, Stamp after = 0) {
  std::map<Stamp, Bytes> contents;
  if (after == 0) after = oldest_row(member.store, member.oplog) - 1;
  const LoggedChanges read = read_changes(
      member.store, member.oplog, after, newest(member), [](const LogSubject& subject) { return !subject.command; }, SIZE_MAX,
      SIZE_MAX);
  for (const auto& change : read.changes) {
    if (change->entry.op == 'i') contents[change->row] = Bytes(change->entry.o.bytes());
  }
  return contents;
}

struct Filled {
  Filled(Member& member, int documents, size_t words, const storage::CollectionOptions& options = {})
      : collection(member.store.catalog().create("wiki.pages", options)) {
    for (int id = 0; id < documents; ++id) {
      member.write([&](storage::Transaction& transaction) {
        const bson::Document document = page(id, test::text_of(static_cast<uint64_t>(id), words));
        const storage::Stored stored = member.committer.insert(transaction, *collection, document);
        expected[stored.generation] = Bytes(document.view().bytes());
      });
    }
  }
  std::shared_ptr<storage::Collection> collection;
  std::map<Stamp, Bytes> expected;
};

TEST_CASE("the log keeps the contents of a dropped collection, whose tables go") {
  storage::TemporaryDirectory directory;
  std::map<Stamp, Bytes> expected;
  storage::CollectionId id = 0;
  {
    Member member(directory.path());
    const Filled filled(member, 3000, 20);
    expected = filled.expected;
    id = filled.collection->id();
    member.store.catalog().drop("wiki.pages");
    CHECK(logged(member) == expected);
    member.oplog.tend();
    CHECK(member.store.catalog().dropped(id));  // the set may still roll back the drop
    CHECK(member.store.catalog().dropped().empty());
    member.store.engine().set_majority_committed(newest(member));
    CHECK(member.store.catalog().dropped().size() == 1);
  }
  {
    Member member(directory.path());  // it was stopped before the log had taken anything in
    REQUIRE(member.store.catalog().dropped(id));
    CHECK(has_files(member, id));
    CHECK(logged(member) == expected);
    member.store.engine().set_majority_committed(newest(member));
    member.oplog.tend();
    CHECK(member.store.catalog().dropped().empty());
    CHECK(logged(member) == expected);
    member.store.engine().set_majority_committed(newest(member));
    CHECK(base::testing::wait_until([&] {
      member.store.engine().checkpoint();
      return !has_files(member, id);
    }));
    CHECK(logged(member) == expected);
    CHECK(member.records().size() > expected.size());  // for other members too
  }
  Member member(directory.path());
  CHECK(!member.store.catalog().dropped(id));
  CHECK(logged(member) == expected);
  CHECK(!has_files(member, id));
}

TEST_CASE("a reader that began before the contents moved into the log still finds them") {
  storage::TemporaryDirectory directory;
  Member member(directory.path());
  const Filled filled(member, 50, 20);
  storage::Transaction transaction(member.store, storage::Transaction::Mode::read);
  const auto scan = member.oplog.collection()->scan(transaction, storage::Direction::forward);
  int found = 0;
  for (bool on = scan->next(); on; on = scan->next()) {
    if (scan->document()["op"].as_string() == "i") ++found;
    if (found == 10 && member.store.catalog().find("wiki.pages")) {
      member.store.catalog().drop("wiki.pages");
      member.store.engine().set_majority_committed(newest(member));
      member.oplog.tend();
      REQUIRE(member.store.catalog().dropped().empty());
    }
  }
  CHECK(found == 50);
}

TEST_CASE("while the contents of a dropped collection move into the log, its oldest entries go if it gets too large") {
  storage::TemporaryDirectory directory;
  Member member(directory.path(), 1 << 20);
  const Filled filled(member, 1000, 300);  // 6 MB
  member.store.catalog().drop("wiki.pages");
  member.store.engine().set_majority_committed(newest(member));
  member.oplog.tend();
  CHECK(member.store.catalog().dropped().empty());
  const OplogStats stats = member.oplog.stats();
  CHECK(stats.stored_bytes <= 2 << 20);
  CHECK_THROWS_AS(logged(member, filled.expected.begin()->first - 1), base::OperationError);  // streams from there are told so
  const auto left = logged(member);
  REQUIRE(!left.empty());
  for (const auto& [stamp, content] : left) CHECK(filled.expected.at(stamp) == content);
  CHECK(left.rbegin()->first == filled.expected.rbegin()->first);
}

TEST_CASE("pre-images of a dropped collection don't need its documents any more") {
  storage::TemporaryDirectory directory;
  storage::CollectionOptions options;
  options.document = bson::json("{changeStreamPreAndPostImages: {enabled: true}}");
  Member member(directory.path());
  const Filled filled(member, 20, 100, options);
  std::map<Stamp, Bytes> before;
  for (int turn = 0; turn < 3; ++turn) {
    for (int id = 0; id < 20; ++id) {
      member.write([&](storage::Transaction& transaction) {
        const auto record = *filled.collection->find_id(transaction, page(id, "")["_id"]);
        const bson::Document old = *filled.collection->find(transaction, record);
        const bson::Document changed = page(id, test::edited(std::string(old["text"].as_string()), static_cast<uint64_t>(turn)));
        before[member.committer.update(transaction, *filled.collection, record, old, changed)] = Bytes(old.view().bytes());
      });
    }
  }
  member.store.catalog().drop("wiki.pages");
  member.store.engine().set_majority_committed(newest(member));
  member.oplog.tend();
  member.store.engine().set_majority_committed(newest(member));
  CHECK(base::testing::wait_until([&] {
    member.store.engine().checkpoint();
    return !has_files(member, filled.collection->id());
  }));
  for (const auto& [stamp, content] : before) CHECK(member.oplog.pre_images().find(stamp) == content);
}

}  // namespace
}  // namespace replication
