#include "replication/pre_images.h"

#include <map>

#include "replication/test_support.h"

namespace replication {
namespace {

using storage::Stamp;
using test::Member;

storage::CollectionOptions with_images() {
  storage::CollectionOptions options;
  options.document = bson::json("{changeStreamPreAndPostImages: {enabled: true}}");
  return options;
}

bson::Document page(int id, const std::string& text) {
  bson::Builder out;
  out.append("_id", id).append("text", text);
  return out.done();
}

TEST_CASE("what documents were before each change is found, in any order, on every member") {
  storage::TemporaryDirectory first_directory, second_directory;
  Member first(first_directory.path()), second(second_directory.path());
  const auto collection = first.store.catalog().create("wiki.pages", with_images());
  base::Random random(11);
  std::map<int, bson::Document> pages;
  std::map<Stamp, Bytes> before;
  for (int i = 0; i < 400; ++i) {
    const int id = static_cast<int>(random.below(5));
    const auto found = pages.find(id);
    first.write([&](storage::Transaction& transaction) {
      if (found == pages.end()) {
        pages[id] = page(id, test::text_of(random(), 200));
        first.committer.insert(transaction, *collection, pages[id]);
        return;
      }
      const auto record = *collection->find_id(transaction, found->second["_id"]);
      const Bytes old(found->second.view().bytes());
      if (random.below(20) == 0) {
        before[first.committer.remove(transaction, *collection, record, bson::DocumentView(old))] = old;
        pages.erase(found);
        return;
      }
      const auto form = random.below(2) ? UpdateForm::smallest : UpdateForm::replacement;
      pages[id] = page(id, test::edited(std::string(found->second["text"].as_string()), random()));
      before[first.committer.update(transaction, *collection, record, bson::DocumentView(old), pages[id], form)] = old;
    });
  }
  second.applier.apply(test::sent(first, first.records()));
  for (Member* member : {&first, &second}) {
    for (const auto& [stamp, content] : before) {
      const auto found = member->oplog.pre_images().find(stamp);
      REQUIRE(found);
      CHECK(*found == content);
    }
  }
  CHECK_FALSE(first.oplog.pre_images().find(1));

  // The older half goes.
  const Stamp middle = std::next(before.begin(), static_cast<long>(before.size() / 2))->first;
  CHECK(first.oplog.pre_images().expire(middle) == static_cast<int64_t>(before.size() / 2));
  for (const auto& [stamp, content] : before) {
    const auto found = first.oplog.pre_images().find(stamp);
    CHECK(found.has_value() == (stamp >= middle));
    if (found) CHECK(*found == content);
  }
}

TEST_CASE("collections without the option keep none") {
  storage::TemporaryDirectory directory;
  Member member(directory.path());
  const auto collection = member.store.catalog().create("wiki.pages", {});
  const auto before = page(1, "a"), after = page(1, "b");
  Stamp stamp = 0;
  member.write([&](storage::Transaction& transaction) {
    const auto record = member.committer.insert(transaction, *collection, before).id;
    stamp = member.committer.update(transaction, *collection, record, before, after);
  });
  CHECK_FALSE(member.oplog.pre_images().find(stamp));
  member.store.catalog().alter_options(collection, bson::json("{changeStreamPreAndPostImages: {enabled: true}}"));
  member.write([&](storage::Transaction& transaction) {
    stamp = member.committer.update(transaction, *collection, *collection->find_id(transaction, after["_id"]), after, before);
  });
  CHECK(member.oplog.pre_images().find(stamp) == Bytes(after.bytes()));
}

TEST_CASE("a damaged key is no endless way, and keeps no image from being found") {
  storage::TemporaryDirectory directory;
  Member member(directory.path());
  const auto collection = member.store.catalog().create("wiki.pages", with_images());
  const auto before = page(1, std::string(2000, 'a')), after = page(1, std::string(2000, 'a') + "b");
  Stamp stamp = 0;
  storage::RecordId record = 0;
  member.write([&](storage::Transaction& transaction) {
    record = member.committer.insert(transaction, *collection, before).id;
    stamp = member.committer.update(transaction, *collection, record, before, after);
  });
  // One key lies behind all keys of the record, and is the longer; the other ends before the record's number.
  Bytes longer(1, 'r'), shorter(1, 'r');
  base::append_be64(longer, collection->id());
  base::append_be64(longer, static_cast<uint64_t>(record));
  longer += Bytes(9, '\xff');
  base::append_be64(shorter, collection->id());
  shorter += '\x7f';
  const storage::Table table = member.store.engine().open_table("pre-images");
  member.write([&](storage::Transaction& transaction) {
    table.put(transaction, longer, "x");
    table.put(transaction, shorter, "x");
  });
  CHECK(member.oplog.pre_images().make_last_whole(*collection, 0) == 0);
  CHECK(member.oplog.pre_images().find(stamp) == Bytes(before.bytes()));
}

}  // namespace
}  // namespace replication
