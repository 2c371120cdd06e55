#include "replication/forward_log.h"

#include <catch2/catch.hpp>

#include "base/hash.h"
#include "base/random.h"
#include "replication/test_support.h"
#include "storage/store.h"

using namespace replication;
using namespace replication::test;
using bson::json;
using storage::Stamp;
using storage::TemporaryDirectory;
using storage::Transaction;

namespace {

bson::Document document(const std::string& id, const std::string& text) {
  bson::Builder out;
  out.append("_id", id).append("text", text);
  return out.done();
}

struct Pair {
  TemporaryDirectory at_a, at_b;
  Member a{at_a.path()}, b{at_b.path()};
  Stamp from = 1;

  std::shared_ptr<storage::Collection> collection(const std::string& ns = "wiki.pages") {
    return a.store.catalog().open_or_create(ns);
  }

  void insert(Transaction& transaction, const std::string& id, const std::string& text, const std::string& ns = "wiki.pages") {
    a.committer.insert(transaction, *collection(ns), document(id, text));
  }
  void insert(const std::string& id, const std::string& text, const std::string& ns = "wiki.pages") {
    const auto into = collection(ns);
    a.write([&](Transaction& transaction) { a.committer.insert(transaction, *into, document(id, text)); });
  }
  void replace(const std::string& id, const std::string& text) {
    const auto in = collection();
    a.write([&](Transaction& transaction) {
      const auto record = *in->find_id(transaction, document(id, "")["_id"]);
      a.committer.update(transaction, *in, record, *in->find(transaction, record), document(id, text), UpdateForm::replacement);
    });
  }
  void remove(const std::string& id) {
    const auto in = collection();
    a.write([&](Transaction& transaction) {
      const auto record = *in->find_id(transaction, document(id, "")["_id"]);
      a.committer.remove(transaction, *in, record, *in->find(transaction, record));
    });
  }

  // Returns the records that were written since the last call, as they are sent.
  std::vector<LogRecord> next() {
    const auto records = a.records(from);
    if (!records.empty()) from = records.back().last() + 1;
    return sent(a, records);
  }
  void follow() {
    b.applier.apply(next());
    require_same(a, b);
  }
};

const Entry& only(const std::vector<LogRecord>& records) {
  REQUIRE(records.size() == 1);
  REQUIRE(records.front().entries.size() == 1);
  return records.front().entries.front().entry;
}

bool is_delta(const Entry& entry) {
  return entry.form == Entry::Form::delta;
}

const std::string first = text_of(1, 200);

std::string failure(Member& member, const std::vector<LogRecord>& records) {
  try {
    member.applier.apply(records);
  } catch (const base::OperationError& error) {
    CHECK(error.code() == base::ErrorCode::data_corruption_detected);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a replaced document goes as a delta of what it was, a new one of what it resembles") {
  Pair set;
  set.insert("a", first);
  set.follow();
  set.replace("a", edited(first, 2));
  auto records = set.next();
  CHECK(is_delta(only(records)));
  CHECK(only(records).delta.instructions.size() < first.size() / 10);
  set.b.applier.apply(records);
  require_same(set.a, set.b);

  set.insert("b", edited(first, 3));
  records = set.next();
  CHECK(is_delta(only(records)));
  CHECK(bson::to_json(only(records).delta.base_id).find("\"a\"") != std::string::npos);
  set.b.applier.apply(records);
  require_same(set.a, set.b);

  set.insert("c", text_of(99, 200));
  CHECK_FALSE(is_delta(only(set.next())));  // resembles nothing
  set.insert("d", "short");
  CHECK_FALSE(is_delta(only(set.next())));
  CHECK(set.a.applier.forward().figures().deltas.get() == 2);
  CHECK(set.b.applier.forward().figures().decoded.get() == 2);
}

TEST_CASE("a base may be in the same record") {
  Pair set;
  set.collection();
  set.a.write([&](Transaction& transaction) {
    set.insert(transaction, "a", first);
    set.insert(transaction, "b", edited(first, 2));
    set.insert(transaction, "c", edited(first, 3));
  });
  const auto records = set.next();
  const auto& entries = records.back().entries;
  REQUIRE(entries.size() == 3);
  CHECK_FALSE(is_delta(entries[0].entry));
  CHECK(is_delta(entries[1].entry));
  CHECK(is_delta(entries[2].entry));
  set.b.applier.apply(records);
  require_same(set.a, set.b);
}

TEST_CASE("what was changed or removed before the entry is no base, what is changed behind it is one") {
  Pair set;
  SECTION("removed") {
    set.insert("a", first);
    set.remove("a");
    set.insert("b", edited(first, 2));
    const auto records = set.next();
    CHECK_FALSE(is_delta(records.back().entries.front().entry));
    set.b.applier.apply(records);
  }
  SECTION("changed by a diff") {
    set.insert("a", first);
    const auto in = set.collection();
    set.a.write([&](Transaction& transaction) {
      const auto record = *in->find_id(transaction, document("a", "")["_id"]);
      const auto before = *in->find(transaction, record);
      bson::Builder after;
      after.append("_id", "a").append("text", first).append("more", 1);
      set.a.committer.update(transaction, *in, record, before, after.done(), UpdateForm::smallest);
    });
    set.insert("b", edited(first, 2));
    const auto records = set.next();
    REQUIRE(records[2].entries.front().entry.o2);
    CHECK_FALSE(is_delta(records.back().entries.front().entry));
    set.b.applier.apply(records);
  }
  SECTION("replaced by something else") {
    set.insert("a", first);
    set.replace("a", text_of(5, 300));
    set.insert("b", edited(first, 2));
    const auto records = set.next();
    CHECK_FALSE(is_delta(records.back().entries.front().entry));
    set.b.applier.apply(records);
  }
  SECTION("replaced behind it, before anything was sent") {
    set.insert("a", first);
    set.insert("b", edited(first, 2));
    set.replace("a", text_of(5, 300));
    set.remove("a");
    const auto records = set.next();
    REQUIRE(records.size() == 5);
    CHECK(is_delta(records[2].entries.front().entry));
    for (const auto& record : records) set.b.applier.apply({record});
  }
  require_same(set.a, set.b);
}

TEST_CASE("bases are of the same collection, and none is left behind a command") {
  Pair set;
  set.insert("a", first, "wiki.other");
  set.follow();
  set.insert("a", edited(first, 2));
  auto records = set.next();
  CHECK_FALSE(is_delta(records.back().entries.front().entry));
  set.b.applier.apply(records);
  for (const bool drops : {false, true}) {
    if (drops)
      set.a.store.catalog().drop("wiki.pages");
    else
      set.a.store.catalog().rename("wiki.pages", "wiki.other", true);
    set.insert("b", edited(first, 3));
    records = set.next();
    CHECK_FALSE(is_delta(records.back().entries.front().entry));
    set.b.applier.apply(records);
    require_same(set.a, set.b);
  }
}

TEST_CASE("a member that has later entries already finds a base that was changed since") {
  for (const bool removed : {false, true}) {
    Pair set;
    set.insert("a", first);
    set.insert("b", edited(first, 2));
    if (removed)
      set.remove("a");
    else
      set.replace("a", text_of(5, 300));
    const auto records = set.next();
    REQUIRE(records.size() == 4);
    set.b.applier.apply({records[0], records[1], records[3]});
    set.b.applier.forward().skipped();  // as after a restart
    set.b.applier.apply({records[2], records[3]});
    require_same(set.a, set.b);
    CHECK(set.b.applier.forward().figures().from_oplog.get() == 1);
  }
}

TEST_CASE("a base that didn't come lately is read from the records") {
  Pair set;
  set.insert("a", first);
  set.follow();
  set.b.applier.forward().skipped();
  set.insert("b", edited(first, 2));
  set.follow();
  CHECK(set.b.applier.forward().figures().from_records.get() == 1);
}

TEST_CASE("a base that is missing, another, or not what was meant stops the member") {
  Pair set;
  set.insert("a", first);
  const auto before = set.next();
  set.insert("b", edited(first, 2));
  const auto records = set.next();
  REQUIRE(is_delta(only(records)));
  const auto changed = [&](auto change) {
    Entry entry = only(records);
    change(entry.delta);
    LogRecordBuilder builder;
    builder.add(records.front().first(), entry);
    return std::vector{builder.done()};
  };
  set.b.applier.apply({before[0]});
  CHECK(failure(set.b, records).find("is not here") != std::string::npos);
  set.b.applier.apply(before);
  CHECK(failure(set.b, changed([](Entry::Delta& delta) { delta.base_behind += 1; })).find("is not here") != std::string::npos);
  CHECK(failure(set.b, changed([](Entry::Delta& delta) { ++delta.base_checksum; })).find("another content") != std::string::npos);
  CHECK(failure(set.b, changed([](Entry::Delta& delta) { ++delta.content_hash; })).find("makes another content") !=
        std::string::npos);
  CHECK(failure(set.b, changed([](Entry::Delta& delta) { delta.instructions.remove_suffix(1); })).find("can't be applied") !=
        std::string::npos);
  set.b.applier.apply(records);
  require_same(set.a, set.b);
}

TEST_CASE("a member that takes over goes on with what it has applied") {
  Pair set;
  set.insert("a", first);
  set.follow();
  set.b.applier.forward().lead();
  const auto there = set.b.store.catalog().open("wiki.pages");
  set.b.write([&](Transaction& transaction) { set.b.committer.insert(transaction, *there, document("b", edited(first, 2))); });
  const auto records = sent(set.b, set.b.records(set.from));
  CHECK(is_delta(only(records)));
  set.a.applier.apply(records);
  require_same(set.a, set.b);
}

TEST_CASE("switched off, contents go whole, and nothing stale is left for later") {
  Pair set;
  set.insert("a", first);
  set.follow();
  set.a.applier.forward().enabled = false;
  set.remove("a");
  set.insert("a", edited(first, 2));
  CHECK_FALSE(is_delta(set.next().back().entries.front().entry));
  set.a.applier.forward().enabled = true;
  set.insert("b", edited(first, 3));
  CHECK_FALSE(is_delta(only(set.next())));
}

TEST_CASE("members stay alike whatever is revised, and however much of it is in memory") {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    INFO("seed " << seed);
    Pair set;
    base::Random random(seed);
    std::vector<std::string> texts(12);
    for (size_t i = 0; i < texts.size(); ++i) texts[i] = text_of(seed * 100 + i, 40 + random.below(200));
    set.collection();
    for (int round = 0; round < 60; ++round) {
      for (uint64_t writes = 1 + random.below(4); writes > 0; --writes) {
        const auto in = set.collection();
        const uint64_t choices = random();
        set.a.write([&](Transaction& transaction) {
          base::Random mine(choices);
          for (uint64_t i = 1 + mine.below(5); i > 0; --i) {
            std::string& text = texts[mine.below(texts.size())];
            const auto after = document(std::to_string(mine.below(40)), text = edited(text, mine()));
            const auto record = in->find_id(transaction, after["_id"]);
            if (!record) {
              set.a.committer.insert(transaction, *in, after);
            } else if (mine.below(4) == 0) {
              set.a.committer.remove(transaction, *in, *record, *in->find(transaction, *record));
            } else {
              set.a.committer.update(transaction, *in, *record, *in->find(transaction, *record), after,
                                     mine.below(2) ? UpdateForm::smallest : UpdateForm::replacement);
            }
          }
        });
      }
      if (random.below(10) == 0) set.b.applier.forward().skipped();
      set.b.applier.apply(set.next());
    }
    require_same(set.a, set.b);
    require_valid(set.b);
    CHECK(set.b.applier.forward().figures().decoded.get() > 50);
    CHECK(set.b.applier.forward().figures().from_records.get() > 0);
  }
}
