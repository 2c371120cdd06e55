// These tests damage tables on purpose, and check what a repair makes of them.
#include "storage/upkeep/repair.h"
#include "storage/upkeep/validate.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "base/random.h"
#include "bson/json.h"
#include "bson/keystring.h"
#include "storage/background/dedup_service.h"
#include "storage/collections/stored_collection.h"
#include "storage/contents/chain_check.h"
#include "storage/contents/contents.h"
#include "storage/contents/declared_snapshots.h"
#include "storage/contents/record_store_state.h"
#include "storage/testing/damage.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"

using namespace storage;
using namespace storage::test;
using bson::json;

namespace {

// The fixture has versions of a few documents, kept as deltas, and an index on a number.
struct Fixture {
  TemporaryDirectory directory;
  Store store{test_options(directory.path())};
  std::shared_ptr<Collection> collection = store.catalog().create("wiki.pages", {});
  base::Random random{7};
  std::map<RecordId, bson::Document> model;
  std::map<RecordId, Stamp> generations;

  explicit Fixture(int count = 60) {
    store.catalog().create_indexes(collection, {parse_index_spec(json("{key: {n: 1}, name: 'n'}"))});
    std::string texts[4];
    for (auto& text : texts) text = words(random, 2000);
    for (int i = 0; i < count; ++i) {
      auto& text = texts[i % 4];
      text.replace(random.below(1900), random.below(30), words(random, 20));
      bson::Builder made;
      made.append("_id", i).append("n", i % 7).append("text", text);
      const auto document = made.done();
      const Stored stored = in_transaction(store, [&](Transaction& t) { return collection->insert(t, document); });
      model[stored.id] = document;
      generations[stored.id] = stored.generation;
    }
    store.dedup().drain(true);
  }
  const StoreTables& tables() { return collection->records().state().chains.tables(); }
  ValidateReport validate() { return validate_collection(store, collection, false); }
  RepairReport repair(const ContentCopies& copies = {}, const std::function<void()>& interrupted = nullptr) {
    return repair_collection(store, collection, false, copies, nullptr, interrupted);
  }

  bool reads(RecordId record) {
    Transaction transaction(store, Transaction::Mode::read);
    try {
      const auto found = collection->find(transaction, record, nullptr);
      return found && found->bytes() == model.at(record).bytes();
    } catch (const base::OperationError&) {
      return false;
    }
  }
  size_t unreadable() {
    size_t count = 0;
    for (const auto& [record, document] : model) count += !reads(record);
    return count;
  }
  // Every document is either unchanged or gone, and no error is left.
  void require_sound(const RepairReport& report) {
    for (const auto& error : report.after.errors) UNSCOPED_INFO(error);
    CHECK(report.after.valid);
    CHECK(report.after.warnings.empty());
    const ValidateReport again = validate_collection(store, collection, true);
    CHECK(again.valid);
    CHECK(again.records == collection->record_count());
    Transaction transaction(store, Transaction::Mode::read);
    const auto scan = collection->scan(transaction, Direction::forward);
    int64_t seen = 0;
    while (scan->next()) {
      ++seen;
      CHECK((scan->document().bytes() == model.at(scan->record()).bytes()));
    }
    CHECK(seen == collection->record_count());
  }
  // This function flips a bit in the value of one row.
  void damage(const Table& table, BytesView key) {
    in_transaction(store, [&](Transaction& t) {
      Bytes row(*table.get(t, key));
      row[row.size() - 1 - row.size() / 3] ^= 0x10;
      table.put(t, key, row);
    });
  }
  std::vector<Bytes> keys(const Table& table) {
    std::vector<Bytes> all;
    Transaction transaction(store, Transaction::Mode::read);
    TableCursor cursor = table.cursor(transaction);
    while (cursor.next()) all.emplace_back(cursor.key());
    return all;
  }
  int64_t lost() {
    int64_t count = 0;
    for (const auto& found : store.catalog().collections("local")) {
      if (found->ns().starts_with("local.lost_and_found.")) count += found->record_count();
    }
    return count;
  }
};

}  // namespace

TEST_CASE("a repair of what is sound changes nothing") {
  Fixture f;
  const RepairReport report = f.repair();
  CHECK_FALSE(report.repaired());
  CHECK(report.after.valid);
  CHECK(f.unreadable() == 0);
}

TEST_CASE("a flipped bit in a chain costs what stands on it, and no more, where there is no copy") {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Fixture f;
    const auto rows = f.keys(f.tables().chains);
    REQUIRE(rows.size() > 40);
    f.damage(f.tables().chains, rows[base::Random(seed).below(rows.size())]);
    const auto damaged = static_cast<int64_t>(f.unreadable());
    REQUIRE(damaged > 0);
    CHECK_FALSE(f.validate().valid);
    CHECK(corrupt_records(f.store, *f.collection, 1000).size() == static_cast<size_t>(damaged));
    const RepairReport report = f.repair();
    CHECK(report.removed_records == damaged);
    CHECK(f.lost() == damaged);
    CHECK(f.collection->record_count() == 60 - damaged);
    f.require_sound(report);
    CHECK_FALSE(f.repair().repaired());
    f.store.dedup().drain(true);
    CHECK(f.validate().valid);
  }
}

TEST_CASE("a content that has a copy is put back, and those based on it read again") {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Fixture f;
    base::Random random(seed);
    const auto chains = f.keys(f.tables().chains);
    for (int i = 0; i < 3; ++i) f.damage(f.tables().chains, chains[random.below(chains.size())]);
    for (const Table* table : {&f.tables().records, &f.tables().packed}) {
      const auto rows = f.keys(*table);
      if (!rows.empty()) f.damage(*table, rows.back());
    }
    REQUIRE(f.unreadable() > 0);
    int asked = 0;
    const RepairReport report = f.repair([&](const Collection&, RecordId record, Stamp generation) -> std::optional<Bytes> {
      ++asked;
      if (f.generations[record] != generation) return std::nullopt;
      return Bytes(f.model.at(record).bytes());
    });
    CHECK(asked > 0);
    CHECK(report.restored_contents > 0);
    CHECK(report.removed_records == 0);
    CHECK(f.unreadable() == 0);
    f.require_sound(report);
  }
}

TEST_CASE("a copy that is not what was there is not believed") {
  Fixture f;
  f.damage(f.tables().chains, f.keys(f.tables().chains).front());
  const RepairReport report =
      f.repair([&](const Collection&, RecordId, Stamp) { return std::optional(Bytes(json("{_id: 1, other: 'text'}").bytes())); });
  CHECK(report.restored_contents == 0);
  CHECK(report.removed_records > 0);
  f.require_sound(report);
}

TEST_CASE("counts of references, rows nothing leads to and wrong counts are put right") {
  Fixture f;
  in_transaction(f.store, [&](Transaction& t) {
    int changed = 0;
    TableCursor cursor = f.tables().chains.cursor(t);
    std::vector<std::pair<ChainKey, Bytes>> rows;
    while (cursor.next()) rows.emplace_back(parse_chain_key(cursor.key()).or_throw(), Bytes(cursor.value()));
    for (auto& [key, bytes] : rows) {
      if (++changed % 5) continue;
      const Bytes copy = bytes;
      ChainRow row = parse_chain_row(copy, key).or_throw();
      row.references += 3;
      f.tables().chains.put(t, chain_key(key), chain_row(key, row));
    }
    ChainKey nobodys = rows.front().first;
    nobodys.content.generation += 1;
    f.tables().chains.put(t, chain_key(nobodys),
                          chain_row(nobodys, {.form = ChainRow::Form::raw,
                                              .dead = false,
                                              .references = 0,
                                              .length = 3,
                                              .checksum = 1,
                                              .base = {},
                                              .payload = "abc"}));
    std::vector<Bytes> heads;
    TableCursor head = f.tables().heads.cursor(t);
    while (head.next()) heads.emplace_back(head.key());
    for (const Bytes& key : heads) f.tables().heads.remove(t, key);
  });
  CHECK_FALSE(f.validate().valid);
  const RepairReport report = f.repair();
  CHECK(report.corrected_chains > 0);
  CHECK(report.removed_records == 0);
  CHECK(f.unreadable() == 0);
  f.require_sound(report);
}

TEST_CASE("a full validate reports wrong counts of what is stored, and a repair corrects them") {
  Fixture f;
  f.collection->records().state().chains.counters().add({.heads = 2, .dead = -1, .dead_bytes = 77});
  CHECK(f.validate().warnings.empty());  // Only a full validate looks at the counts.
  const auto warned = [&] {
    const ValidateReport report = validate_collection(f.store, f.collection, true);
    CHECK(report.valid);
    return std::count(report.warnings.begin(), report.warnings.end(), "the stored counts of deltas and heads are wrong");
  };
  CHECK(warned() == 1);
  f.require_sound(f.repair());
  CHECK(warned() == 0);
}

TEST_CASE("index entries that are missing are made, those that lead nowhere go") {
  Fixture f;
  const Table index = f.collection->index("n")->table();
  const auto entry = [](int n, RecordId record) {
    bson::KeyString key;
    key.append(bson::Value(n));
    Bytes bytes = key.bytes();
    base::append_be64(bytes, static_cast<uint64_t>(record));
    return bytes;
  };
  const RecordId first = f.model.begin()->first;
  in_transaction(f.store, [&](Transaction& t) {
    index.remove(t, entry(0, first));
    index.put(t, entry(3, 999), "");
    index.put(t, entry(99, first), "");
  });
  CHECK_FALSE(f.validate().valid);
  const RepairReport report = f.repair();
  CHECK(report.inserted_keys == 1);
  CHECK(report.removed_keys == 2);
  f.require_sound(report);
}

TEST_CASE("a repair corrects index entries that have other types than their documents") {
  Fixture f;
  const Table index = f.collection->index("n")->table();
  const Bytes entry = f.keys(index).front();
  in_transaction(f.store, [&](Transaction& t) { index.put(t, entry, "\x02"); });  // This type is a double.
  const ValidateReport damaged = f.validate();
  CHECK_FALSE(damaged.valid);
  REQUIRE(damaged.errors.size() == 1);
  CHECK(damaged.errors[0].find("tells other types than the document has") != std::string::npos);
  const RepairReport report = f.repair();
  CHECK(report.corrected_types == 1);
  CHECK(report.repaired());
  CHECK(report.inserted_keys + report.removed_keys == 0);
  f.require_sound(report);
}

TEST_CASE("a repair stops wherever it is interrupted, and the next one continues") {
  Fixture f;
  const auto chains = f.keys(f.tables().chains);
  for (size_t i = 0; i < chains.size(); i += 16) f.damage(f.tables().chains, chains[i]);
  const auto entries = f.keys(f.collection->index("n")->table());
  in_transaction(f.store, [&](Transaction& t) {
    for (size_t i = 0; i < entries.size(); i += 2) f.collection->index("n")->table().remove(t, entries[i]);
  });
  struct Interrupted {};
  int stopped = 0;
  for (int patience = 0;; patience += 7) {
    int asked = 0;
    try {
      const RepairReport report = f.repair({}, [&] {
        if (++asked > patience) throw Interrupted{};
      });
      f.require_sound(report);
      break;
    } catch (const Interrupted&) {
      ++stopped;
    }
  }
  // The repair could stop at least at every record of both indexes.
  CHECK(stopped * 7 > 2 * f.collection->record_count());
}

TEST_CASE("damage to pre-states in a row is reported, and a repair removes them") {
  Fixture f(8);
  RecordStore& record_store = f.collection->records();
  const auto [record, before] = *f.model.begin();
  const Bytes now(before.bytes());
  Stamp snapshot = 0;
  for (int times = 0; times < 2; ++times) {
    in_transaction(f.store, [&](Transaction& transaction) {
      transaction.expect_stamps(2);
      const Stamp declared = transaction.next_stamp();
      if (times == 0) snapshot = declared;
      record_store.update(transaction, record, now, transaction.next_stamp(), declared);
    });
  }
  const auto then = [&] {
    Transaction transaction(f.store, Transaction::Mode::read);
    Bytes content;
    return record_store.find_not_after(transaction, record, snapshot, content);
  };
  CHECK(then());
  CHECK(f.validate().valid);
  in_transaction(f.store, [&](Transaction& transaction) {
    const Bytes row(*f.tables().records.get(transaction, record_key(record)));
    const RecordRow parsed = parse_record_row(row, record).or_throw();
    REQUIRE_FALSE(parsed.past.pre_states.empty());
    Bytes damaged(parsed.past.pre_states);
    damaged.back() = static_cast<char>(damaged.back() ^ 0x55);
    f.tables().records.put(transaction, record_key(record),
                           raw_row(parsed.generation, parsed.checksum, parsed.content, {damaged, false}));
  });
  CHECK_THROWS_AS(then(), base::OperationError);
  CHECK_FALSE(f.validate().valid);
  CHECK(f.reads(record));
  CHECK(f.repair().corrected_chains == 1);
  CHECK(f.validate().valid);
  CHECK_FALSE(then());
  CHECK(f.reads(record));
}

namespace {

// A log that has the newest contents of some documents.
class KnownContents : public DocumentLog {
 public:
  std::map<RecordId, std::pair<Stamp, Bytes>> known;

  std::map<RecordId, LoggedDocument> find(const Collection&, const std::vector<DamagedDocument>& lost,
                                          const std::function<void()>&) override {
    std::map<RecordId, LoggedDocument> found;
    for (const DamagedDocument& document : lost) {
      const auto at = known.find(document.record);
      if (at != known.end()) found[document.record] = {at->second.first, {}};
    }
    return found;
  }
  base::Result<Bytes> content(RecordId record, const std::function<void()>&) override {
    asked.push_back(known.at(record).first);
    return known.at(record).second;
  }

  std::vector<Stamp> asked;
};

bool warns(const RepairReport& report, const std::string& text) {
  return std::any_of(report.warnings.begin(), report.warnings.end(),
                     [&](const std::string& warning) { return warning.find(text) != warning.npos; });
}

bson::Document edited(Fixture& f, RecordId record, size_t words_bytes) {
  const bson::DocumentView before(f.model.at(record));
  bson::Builder made;
  made.append("_id", before["_id"]).append("n", before["n"]);
  std::string text(before["text"].as_string());
  if (words_bytes < text.size())
    text.replace(100, words_bytes, words(f.random, words_bytes));
  else
    text = words(f.random, words_bytes);
  return made.append("text", text).done();
}

struct Revision {
  Stamp declared = 0;    // a snapshot that shows what was there before the update
  Stamp generation = 0;  // of the content after it
  bson::Document before;
};

Revision revise(Fixture& f, RecordId record, size_t words_bytes) {
  Revision revision{0, 0, f.model.at(record)};
  const bson::Document after = edited(f, record, words_bytes);
  in_transaction(f.store, [&](Transaction& transaction) {
    transaction.expect_stamps(2);
    revision.declared = transaction.next_stamp();
    revision.generation = transaction.next_stamp();
    f.collection->records().update(transaction, record, after.bytes(), revision.generation, revision.declared);
  });
  f.model[record] = after;
  f.generations[record] = revision.generation;
  return revision;
}

}  // namespace

TEST_CASE("a repair removes only those pre-states of a row that can't be read") {
  Fixture f(8);
  RecordStore& record_store = f.collection->records();
  const RecordId record = f.model.begin()->first;
  std::vector<Revision> revisions;
  for (int i = 0; i < 4; ++i) revisions.push_back(revise(f, record, 20));
  const auto then = [&](const Revision& revision) -> std::optional<Bytes> {
    Transaction transaction(f.store, Transaction::Mode::read);
    Bytes content;
    if (!record_store.find_not_after(transaction, record, revision.declared, content)) return std::nullopt;
    return content;
  };
  for (const Revision& revision : revisions) REQUIRE(then(revision) == Bytes(revision.before.bytes()));
  in_transaction(f.store, [&](Transaction& transaction) {
    const Bytes row(*f.tables().records.get(transaction, record_key(record)));
    const RecordRow parsed = parse_record_row(row, record).or_throw();
    // The last byte is of the oldest pre-state.
    Bytes damaged(parsed.past.pre_states);
    damaged.back() = static_cast<char>(damaged.back() ^ 0x55);
    f.tables().records.put(transaction, record_key(record),
                           raw_row(parsed.generation, parsed.checksum, parsed.content, {damaged, false}));
  });
  CHECK_THROWS_AS(then(revisions[0]), base::OperationError);
  const RepairReport report = f.repair();
  CHECK(warns(report, "Lost: the oldest contents of record " + std::to_string(record) + " that only snapshots show"));
  CHECK_FALSE(then(revisions[0]));
  for (size_t i = 1; i < revisions.size(); ++i) CHECK(then(revisions[i]) == Bytes(revisions[i].before.bytes()));
  f.require_sound(report);
}

namespace {

// Flips a byte of each page of records' rows in a copy of the directory.
void damage_rows(const TemporaryDirectory& copy, const StoreTables& tables) {
  for (const Table* table : {&tables.records, &tables.packed}) {
    const std::string path = copy.path() + "/" + table->name() + ".wt";
    for (const FileBlock& block : file_blocks(path)) {
      if (block.leaf) flip_byte(path, block.offset + 50);
    }
  }
}

}  // namespace

TEST_CASE("rows that are restored from the log lead to what snapshots show and to what is based on them") {
  Fixture f(40);
  const RecordId record = std::prev(f.model.end())->first;
  // Nothing is alike, so the older contents go to the chain table.
  std::vector<Revision> revisions;
  for (int i = 0; i < 3; ++i) revisions.push_back(revise(f, record, 3000));
  f.store.dedup().drain(true);
  const auto kept = [&](Store& store, RecordStore& records) {
    std::map<Stamp, Bytes> contents;
    Transaction transaction(store, Transaction::Mode::read);
    records.each_kept(transaction, record, 0, [&](Stamp generation) {
      contents[generation] = records.find_kept(transaction, record, generation, record).value_or(Bytes());
      return true;
    });
    return contents;
  };
  const auto before = kept(f.store, f.collection->records());
  REQUIRE_FALSE(before.empty());
  const size_t chains = f.keys(f.tables().chains).size();
  REQUIRE(chains > before.size());

  f.store.engine().checkpoint();
  TemporaryDirectory damaged;
  f.directory.copy_to(damaged);
  damage_rows(damaged, f.tables());
  Store store(test_options(damaged.path()));
  const auto collection = store.catalog().open("wiki.pages");
  store.declared_snapshots().add(revisions[0].declared);
  KnownContents log;
  for (const auto& [each, document] : f.model) log.known[each] = {f.generations.at(each), Bytes(document.bytes())};
  const RepairReport report = repair_collection(store, collection, false, {}, nullptr, nullptr, &log);
  CHECK(report.lost.empty());
  CHECK(report.restored.size() == f.model.size());
  // A content may be made of an older one that was lost too.
  CHECK(log.asked.size() == f.model.size());
  CHECK(std::is_sorted(log.asked.begin(), log.asked.end()));
  CHECK(warns(report, "Lost: older contents of document { _id: 39 }"));
  CHECK(report.after.valid);
  CHECK(kept(store, collection->records()) == before);
  {
    Transaction transaction(store, Transaction::Mode::read);
    for (const auto& [each, document] : f.model) {
      const auto found = collection->find(transaction, each, nullptr);
      REQUIRE(found.has_value());
      CHECK((found->bytes() == document.bytes()));
    }
  }
  // Whoever removes the document learns that snapshots may show it.
  in_transaction(store, [&](Transaction& transaction) { CHECK(collection->records().remove(transaction, record).removed); });
}

TEST_CASE("records whose rows are lost come back from their chains, if what they are based on does") {
  Fixture f(40);
  std::set<RecordId> whole;
  {
    Transaction transaction(f.store, Transaction::Mode::read);
    for (const auto& [record, document] : f.model) {
      if (find_sound_row(f.tables(), transaction, record)->row.form == RecordRow::Form::raw) whole.insert(record);
    }
  }
  REQUIRE(!whole.empty());
  REQUIRE(whole.size() < f.model.size() / 2);
  f.store.engine().checkpoint();
  for (const bool logged : {false, true}) {
    CAPTURE(logged);
    TemporaryDirectory damaged;
    f.directory.copy_to(damaged);
    damage_rows(damaged, f.tables());
    Store store(test_options(damaged.path()));
    const auto collection = store.catalog().open("wiki.pages");
    KnownContents log;
    for (const RecordId record : whole) {
      if (logged) log.known[record] = {f.generations.at(record), Bytes(f.model.at(record).bytes())};
    }
    const RepairReport report = repair_collection(store, collection, false, {}, nullptr, nullptr, &log);
    CHECK(report.after.valid);
    CHECK(report.took_away);
    CHECK(report.lost.size() == (logged ? 0 : f.model.size()));
    CHECK(report.restored.size() == (logged ? whole.size() : 0));
    CHECK(report.restored_stubs == static_cast<int64_t>(logged ? f.model.size() - whole.size() : 0));
    Transaction transaction(store, Transaction::Mode::read);
    for (const auto& [record, document] : f.model) {
      const auto found = collection->find(transaction, record, nullptr);
      CHECK(found.has_value() == logged);
      if (found) CHECK((found->bytes() == document.bytes()));
    }
  }
}

TEST_CASE("a repair of damaged tables that is interrupted costs nothing that the next one could restore") {
  Fixture f(40);
  f.store.engine().checkpoint();
  for (const int looks : {1, 5, 10, 20, 40, 60, 80, 100, 150}) {
    CAPTURE(looks);
    TemporaryDirectory damaged;
    f.directory.copy_to(damaged);
    damage_rows(damaged, f.tables());
    Store store(test_options(damaged.path()));
    const auto collection = store.catalog().open("wiki.pages");
    const auto repair = [&](const std::function<void()>& interrupted) {
      KnownContents log;
      for (const auto& [record, document] : f.model) log.known[record] = {f.generations.at(record), Bytes(document.bytes())};
      return repair_collection(store, collection, false, {}, nullptr, interrupted, &log);
    };
    int left = looks;
    try {
      repair([&] {
        if (--left == 0) throw base::OperationError(base::ErrorCode::interrupted, "stop");
      });
    } catch (const base::OperationError& error) {
      CHECK(error.code() == base::ErrorCode::interrupted);
    }
    const RepairReport report = repair(nullptr);
    CHECK(report.after.valid);
    CHECK(report.lost.empty());
    Transaction transaction(store, Transaction::Mode::read);
    for (const auto& [record, document] : f.model) {
      const auto found = collection->find(transaction, record, nullptr);
      CHECK((found && found->bytes() == document.bytes()));
    }
  }
}

TEST_CASE("a repair sets aside what a salvaged file has of an earlier checkpoint") {
  constexpr int each = 10;
  TemporaryDirectory first, directory;
  base::Random random(11);
  std::vector<RecordId> records;
  std::vector<bson::Document> documents;
  std::string name;
  uint64_t earlier_bytes = 0;
  {
    Store store(test_options(first.path()));
    const auto collection = store.catalog().create("wiki.pages", {});
    name = dynamic_cast<StoredCollection&>(*collection).records().state().chains.tables().records.name() + ".wt";
    const auto document = [&](int id) {
      bson::Builder made;
      made.append("_id", id).append("text", words(random, 20000));
      return made.done();
    };
    for (int id = 0; id < 3 * each; ++id) {
      documents.push_back(document(id));
      records.push_back(in_transaction(store, [&](Transaction& t) { return collection->insert(t, documents.back()).id; }));
    }
    store.engine().checkpoint();
    earlier_bytes = std::filesystem::file_size(first.path() + "/" + name);
    for (int id = 0; id < each; ++id) {
      in_transaction(store, [&](Transaction& t) {
        t.expect_stamps(2);
        const Stamp declared = t.next_stamp();
        dynamic_cast<StoredCollection&>(*collection)
            .records()
            .update(t, records[id], document(id).bytes(), t.next_stamp(), declared);
      });
      in_transaction(store, [&](Transaction& t) { collection->remove(t, records[each + id], documents[each + id]); });
    }
    store.engine().checkpoint();
    // Whoever closes the directory writes over the earlier blocks.
    std::filesystem::copy(first.path(), directory.path(), std::filesystem::copy_options::recursive);
  }
  std::filesystem::resize_file(directory.path() + "/" + name, earlier_bytes);

  Store store(test_options(directory.path()));
  const auto collection = store.catalog().find("wiki.pages");
  const RepairReport report = repair_collection(store, collection, true, {}, nullptr, nullptr);
  CHECK(report.after.valid);
  for (const auto& warning : report.warnings) UNSCOPED_INFO(warning);
  CHECK(report.lost.size() == each);  // those that were deleted aren't lost
  Transaction transaction(store, Transaction::Mode::read);
  for (int id = 0; id < 3 * each; ++id) {
    CAPTURE(id);
    const auto found = collection->find(transaction, records[id], nullptr);
    CHECK(found.has_value() == (id >= 2 * each));
    if (found) CHECK((found->bytes() == documents[id].bytes()));
  }
}

TEST_CASE("a content from the log that hasn't the checksum which is left of the document's is not taken") {
  const bool in_chain = GENERATE(false, true);
  Fixture f;
  RecordId victim = 0;
  if (in_chain) {
    const Bytes key = f.keys(f.tables().chains).back();
    victim = parse_chain_key(key).value().content.record;
    f.damage(f.tables().chains, key);
  } else {
    const bson::Document own = json("{_id: 100, text: 'nothing else is like it'}");
    const Stored stored = in_transaction(f.store, [&](Transaction& t) { return f.collection->insert(t, own); });
    victim = stored.id;
    f.model[victim] = own;
    f.generations[victim] = stored.generation;
    f.damage(f.tables().records, record_key(victim));
  }
  f.store.engine().checkpoint();
  TemporaryDirectory damaged;
  f.directory.copy_to(damaged);
  // The log is asked only where a table is damaged.
  const auto stored = std::dynamic_pointer_cast<StoredCollection>(f.collection);
  const std::string path = damaged.path() + "/" + stored->stored_indexes()->back()->table().name() + ".wt";
  for (const FileBlock& block : file_blocks(path)) {
    if (block.leaf) flip_byte(path, block.offset + 50);
  }
  const std::set<RecordId> unreadable = [&] {
    std::set<RecordId> records;
    for (const auto& [record, document] : f.model) {
      if (!f.reads(record)) records.insert(record);
    }
    return records;
  }();
  REQUIRE_FALSE(unreadable.empty());
  REQUIRE(unreadable.contains(victim));
  KnownContents log;
  for (const auto& [record, document] : f.model) log.known[record] = {f.generations.at(record), Bytes(document.bytes())};
  bson::Builder other;
  other.append("_id", f.model.at(victim)["_id"]).append("other", "text");
  log.known[victim].second = other.done().bytes();
  Store store(test_options(damaged.path()));
  const auto collection = store.catalog().open("wiki.pages");
  const RepairReport report = repair_collection(store, collection, false, {}, nullptr, nullptr, &log);
  CHECK(report.lost.size() == 1);
  CHECK(report.restored.size() == unreadable.size() - 1);
  CHECK(warns(report, "what the log has of it isn't what its record's checksum is of"));
  CHECK(report.after.valid);
}
