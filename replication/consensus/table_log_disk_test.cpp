#include "replication/consensus/table_log_disk.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "base/random.h"
#include "replication/consensus/log_rows.h"
#include "replication/consensus/log_store.h"
#include "replication/consensus/test_support.h"
#include "storage/testing/temporary_store.h"

using namespace replication::consensus;
using base::Random;

namespace {

EntryPtr entry(Index index, Term term, Bytes data) {
  return std::make_shared<const LogEntry>(LogEntry{index, term, EntryKind::data, std::move(data), "c"});
}

// A batch as a follower might write it: some entries more, a suffix replaced by a later term's, a beginning gone.
LogBatch random_batch(Random& random, LogMeta& meta, std::vector<EntryPtr>& model) {
  meta.hard.commit += random.below(2);
  LogBatch batch;
  const Index last = meta.compacted.index + model.size();
  if (random.below(4) != 0) {
    Index from = last + 1;
    if (!model.empty() && random.below(4) == 0) from = last - random.below(std::min<uint64_t>(model.size(), 6)), ++meta.hard.term;
    model.resize(from - meta.compacted.index - 1);
    for (uint64_t n = 1 + random.below(5); n > 0; --n, ++from) {
      if (random.below(5) == 0) ++meta.hard.term;
      batch.entries.push_back(entry(from, meta.hard.term, Bytes(random.below(300), static_cast<char>('a' + random.below(26)))));
      model.push_back(batch.entries.back());
    }
  }
  if (!model.empty() && batch.entries.empty() && random.below(2)) {
    const size_t gone = random.below(model.size()) + 1;
    meta.compacted = {model[gone - 1]->index, model[gone - 1]->term};
    model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(gone));
  }
  batch.meta = meta;
  return batch;
}

void check_same(LogStore& store, const LogMeta& meta, const std::vector<EntryPtr>& model) {
  REQUIRE(store.meta().compacted == meta.compacted);
  REQUIRE(store.last() == meta.compacted.index + model.size());
  Term term = 0;
  REQUIRE(store.term(meta.compacted.index, term) == Lookup::found);
  CHECK(term == meta.compacted.term);
  for (const EntryPtr& each : model) {
    REQUIRE(store.term(each->index, term) == Lookup::found);
    CHECK(term == each->term);
  }
  std::vector<EntryPtr> found;
  if (model.empty()) return;
  REQUIRE(store.entries(store.first(), store.last() + 1, UINT64_MAX, found) == Lookup::found);
  REQUIRE(found.size() == model.size());
  for (size_t i = 0; i < model.size(); ++i) CHECK(*found[i] == *model[i]);
}

}  // namespace

TEST_CASE("the log's table holds what was written, after replacing, compacting and reopening") {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    storage::TemporaryDirectory directory;
    Random random(seed);
    LogMeta meta;
    std::vector<EntryPtr> model;
    for (int life = 0; life < 3; ++life) {
      storage::Engine engine(storage::test_options(directory.path()));
      TableLogDisk disk(engine);
      if (life == 0) {
        CHECK_FALSE(disk.load());
        meta.hard.term = 1;
        meta.members.voters = {1, 2, 3 | arbiter_bit};
        start_log(disk, {}, meta.members);
      }
      for (int i = 0; i < 12; ++i) {
        if (life > 0 && i == 0) {
          LogStore store(disk, 100);
          CHECK(store.meta().members == meta.members);
          check_same(store, meta, model);
        }
        meta.hard.commit = meta.compacted.index;
        std::vector<LogBatch> batches;
        for (uint64_t n = 1 + random.below(3); n > 0; --n) batches.push_back(random_batch(random, meta, model));
        disk.write(batches);
        REQUIRE(disk.load()->last == meta.compacted.index + model.size());
      }
      LogStore store(disk, 100);
      check_same(store, meta, model);
    }
  }
}

TEST_CASE("reads are bounded, and give at least one entry") {
  storage::TemporaryDirectory directory;
  storage::Engine engine(storage::test_options(directory.path()));
  TableLogDisk disk(engine);
  start_log(disk, {}, {});
  LogBatch batch{disk.load()->meta, {}, false};
  for (Index i = 1; i <= 10; ++i) batch.entries.push_back(entry(i, 1, Bytes(1000, 'x')));
  disk.write({batch});
  CHECK(disk.read(3, 11, 1).size() == 1);
  CHECK(disk.read(3, 11, 3200).size() == 3);
  CHECK(disk.read(3, 5, UINT64_MAX).size() == 2);
}

TEST_CASE("a damaged or missing row of the log is named") {
  storage::TemporaryDirectory directory;
  storage::Engine engine(storage::test_options(directory.path()));
  TableLogDisk disk(engine);
  start_log(disk, {}, {});
  LogBatch batch{disk.load()->meta, {}, false};
  for (Index i = 1; i <= 5; ++i) batch.entries.push_back(entry(i, 1, "data"));
  disk.write({batch});
  const storage::Table table = engine.open_table("raft_log");
  const auto change = [&](const Bytes& key, const std::function<void(Bytes&)>& how) {
    storage::in_transaction(engine, [&](storage::Transaction& transaction) {
      Bytes value(*table.get(transaction, key));
      how(value);
      table.put(transaction, key, value);
    });
  };
  change(entry_key(3), [](Bytes& value) { value.back() ^= 1; });
  CHECK(disk.read(1, 3, UINT64_MAX).size() == 2);
  CHECK_THROWS_WITH(disk.read(1, 6, UINT64_MAX), Catch::Contains("entry 3 is damaged"));
  storage::in_transaction(engine, [&](storage::Transaction& transaction) {
    table.put(transaction, entry_key(3), encode_entry(*batch.entries[3]));  // another entry's row
  });
  CHECK_THROWS_WITH(disk.read(3, 4, UINT64_MAX), Catch::Contains("entry 3 is damaged"));
  storage::in_transaction(engine, [&](storage::Transaction& transaction) { table.remove(transaction, entry_key(3)); });
  CHECK_THROWS_WITH(disk.read(1, 6, UINT64_MAX), Catch::Contains("entry 3 is missing"));
  change(run_key(1), [](Bytes& value) { value[0] ^= 1; });
  CHECK_THROWS_WITH(disk.load(), Catch::Contains("term from 1"));
  change(meta_key(), [](Bytes& value) { value.resize(9); });
  CHECK_THROWS_WITH(disk.load(), Catch::Contains("state is damaged"));
}

TEST_CASE("rows of the log of any bytes are refused, not trusted") {
  Random random(5);
  for (int i = 0; i < 3000; ++i) {
    Bytes value(random.below(40), '\0');
    for (char& each : value) each = static_cast<char>(random.below(256));
    CHECK_FALSE(decode_meta(value).ok());
    CHECK_FALSE(decode_run(run_key(7), value).ok());
    CHECK_FALSE(decode_entry(entry_key(7), value).ok());
  }
}

TEST_CASE("kill -9 loses nothing that was called durable") {
  storage::TemporaryDirectory directory;
  Index before = 0;
  for (int round = 0; round < 3; ++round) {
    int pipes[2];
    REQUIRE(::pipe(pipes) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(pipes[0]);
      storage::Engine engine(storage::test_options(directory.path()));
      TableLogDisk disk(engine);
      if (!disk.load()) start_log(disk, {}, {});
      LogMeta meta = disk.load()->meta;
      Index next = disk.load()->last + 1;
      for (;; next += 3) {
        LogBatch batch{meta, {}, false};
        batch.meta.hard.commit = next - 1;
        for (Index i = next; i < next + 3; ++i) batch.entries.push_back(entry(i, 1, "entry " + std::to_string(i)));
        disk.write({batch});
        const Index durable = next + 2;
        if (::write(pipes[1], &durable, sizeof durable) < 0) ::_exit(1);
      }
    }
    ::close(pipes[1]);
    Index durable = 0;
    while (durable < before + 600 && ::read(pipes[0], &durable, sizeof durable) > 0) {
    }
    ::kill(child, SIGKILL);
    while (::read(pipes[0], &durable, sizeof durable) > 0) {
    }
    ::close(pipes[0]);
    ::waitpid(child, nullptr, 0);

    storage::Engine engine(storage::test_options(directory.path()));
    TableLogDisk disk(engine);
    LogStore store(disk, 0);
    CHECK(durable >= before + 600);
    CHECK(store.last() >= durable);
    before = store.last();
    std::vector<EntryPtr> found;
    REQUIRE(store.entries(1, store.last() + 1, UINT64_MAX, found) == Lookup::found);
    for (const EntryPtr& each : found) CHECK(each->data == "entry " + std::to_string(each->index));
  }
}

TEST_CASE("a copied log keeps what it holds, and takes term and vote of the member it came to") {
  struct Case {
    Term own_term;
    MemberId own_vote;
    HardState expected;
  };
  const HardState copied{.term = 5, .vote = 2, .commit = 7};
  for (const Case& each : {Case{3, 1, {5, 0, 7}}, Case{5, 1, {5, 1, 7}}, Case{5, 0, {5, 0, 7}}, Case{9, 3, {9, 3, 7}}}) {
    storage::TemporaryDirectory directory;
    storage::Engine engine(storage::test_options(directory.path()));
    TableLogDisk disk(engine);
    start_log(disk, {2, 1}, {.index = 2, .voters = {1, 2, 3}, .learners = {}, .voters_outgoing = {}, .learners_next = {}});
    LogBatch batch{disk.load()->meta, {}, false};
    batch.meta.hard = copied;
    for (Index i = 3; i <= 8; ++i) batch.entries.push_back(entry(i, i / 2, "data"));
    disk.write({batch});
    TableLogDisk arrived(engine);              // a process that has only just started
    for (int times = 0; times < 2; ++times) {  // lost before it could note that it is done
      adopt_copied_log(arrived, each.own_term, each.own_vote);
      const LogImage image = *arrived.load();
      LogMeta expected = batch.meta;
      expected.hard = each.expected;
      CHECK(image.meta == expected);
      CHECK(image.last == 8);
      CHECK(image.runs.size() == 4);
      CHECK(arrived.read(3, 9, UINT64_MAX).size() == 6);
    }
  }
  storage::TemporaryDirectory directory;
  storage::Engine engine(storage::test_options(directory.path()));
  TableLogDisk none(engine);
  CHECK_THROWS_AS(adopt_copied_log(none, 1, 1), base::OperationError);
}
