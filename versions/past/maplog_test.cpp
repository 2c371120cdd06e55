#include "versions/past/maplog.h"

#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "base/random.h"
#include "base/testing.h"
#include "storage/engine/engine.h"
#include "storage/engine/internals.h"
#include "storage/testing/temporary_store.h"

using namespace versions::past;
using storage::Engine;
using storage::Transaction;

namespace {

// Every mapping that was committed, in the order of snapshots and numbers.
using Model = std::map<std::pair<SnapshotId, Stamp>, Mapping>;

std::map<RecordId, Stamp> table_of(const Model& model, SnapshotId snapshot) {
  std::map<RecordId, Stamp> table;
  for (auto at = model.lower_bound({snapshot, 0}); at != model.end(); ++at) table.emplace(at->second.row, at->second.content);
  return table;
}

std::map<RecordId, Stamp> as_map(const PageTable& table) {
  std::map<RecordId, Stamp> all;
  for (const Mapping& mapping : table.in_order()) all.emplace(mapping.row, mapping.content);
  return all;
}

struct Fixture {
  storage::TemporaryDirectory directory;
  std::unique_ptr<Engine> engine = std::make_unique<Engine>(storage::test_options(directory.path()));
  SkippyOptions options;
  std::unique_ptr<SkippyCache> cache;
  std::unique_ptr<Maplog> log;

  explicit Fixture(const SkippyOptions& wanted) : options(wanted) { open(); }
  void open() {
    cache = std::make_unique<SkippyCache>(64 << 10);
    log = std::make_unique<Maplog>(engine->internals().tables.open("past-test", {}), options, *cache);
  }
  void reopen() {
    engine.reset();
    engine = std::make_unique<Engine>(storage::test_options(directory.path()));
    open();
  }
  void check(const Model& model, SnapshotId snapshot) {
    Transaction transaction(*engine, Transaction::Mode::read);
    const auto due = table_of(model, snapshot);
    REQUIRE(as_map(log->page_table(transaction, snapshot)) == due);
    OnDemandTable on_demand(*log, transaction, snapshot);
    for (RecordId row = 1; row <= 60; row += 7) {
      const auto found = due.find(row);
      const auto content = found == due.end() ? std::nullopt : std::optional(found->second);
      CHECK(log->find(transaction, snapshot, row) == content);
      CHECK(on_demand.find(row) == content);
    }
  }
  void check_joint(const Model& model, SnapshotId first, SnapshotId last) {
    Transaction transaction(*engine, Transaction::Mode::read);
    const JointTable joint = log->joint_table(transaction, first, last);
    for (SnapshotId snapshot = first; snapshot <= last; ++snapshot) {
      const auto due = table_of(model, snapshot);
      for (RecordId row = 1; row <= 60; ++row) {
        const auto found = due.find(row);
        CHECK(joint.find(snapshot, row) == (found == due.end() ? std::nullopt : std::optional(found->second)));
      }
      CHECK(as_map(joint.table(snapshot)) == due);
    }
  }
};

// A writer that works while others commit.
struct Writer {
  std::unique_ptr<Transaction> transaction;
  std::vector<std::pair<std::pair<SnapshotId, Stamp>, Mapping>> made;
};

}  // namespace

TEST_CASE("snapshots keep their own mappings whatever the order of commits, and are sealed when nobody can add to them") {
  const SkippyOptions schemes[] = {{.node_mappings = 8, .fan_in = 2, .height = 4},
                                   {.node_mappings = 8, .fan_in = 3},
                                   {.node_mappings = 8, .fan_in = 0, .height = 3},
                                   {.node_mappings = 500}};
  base::Random random(base::testing::seed() + 21);
  for (const SkippyOptions& options : schemes) {
    CAPTURE(options.node_mappings, options.fan_in, options.height);
    Fixture f(options);
    Model model;
    std::vector<Writer> writers;
    SnapshotId newest = 1;
    Stamp stamp = 0;
    for (int step = 0; step < 1500; ++step) {
      const uint64_t dice = random.below(100);
      if (dice < 15) {
        ++newest;
      } else if (dice < 30 && writers.size() < 4) {
        writers.push_back({std::make_unique<Transaction>(*f.engine, Transaction::Mode::write), {}});
      } else if (dice < 75 && !writers.empty()) {
        Writer& writer = writers[random.below(writers.size())];
        const SnapshotId snapshot = newest;
        const Mapping mapping{static_cast<RecordId>(1 + random.below(random.below(60) + 1)), ++stamp};
        f.log->append(*writer.transaction, snapshot, stamp, mapping);
        writer.made.push_back({{snapshot, stamp}, mapping});
      } else if (dice < 92 && !writers.empty()) {
        const size_t which = random.below(writers.size());
        if (random.below(5) == 0) {
          writers[which].transaction->rollback();
        } else {
          writers[which].transaction->commit();
          for (const auto& made : writers[which].made) model.insert(made);
        }
        writers.erase(writers.begin() + static_cast<ptrdiff_t>(which));
      } else if (dice < 96) {
        SnapshotId below = newest;
        for (const Writer& writer : writers) {
          for (const auto& made : writer.made) below = std::min(below, made.first.first);
        }
        if (random.below(4) == 0) {  // a rolled-back transaction leaves nothing, not in the cache either
          Transaction transaction(*f.engine, Transaction::Mode::write);
          f.log->seal(transaction, below);
          transaction.rollback();
        } else {
          in_transaction(*f.engine, [&](Transaction& transaction) { f.log->seal(transaction, below); });
        }
      } else if (dice < 97 && writers.empty()) {
        f.reopen();
      } else {
        f.check(model, 1 + random.below(newest));
      }
    }
    writers.clear();
    for (SnapshotId snapshot = 1; snapshot <= newest; snapshot += 9) f.check(model, snapshot);
    for (int i = 0; i < 10; ++i) {
      const SnapshotId first = 1 + random.below(newest), last = first + random.below(newest - first + 1);
      CAPTURE(first, last);
      f.check_joint(model, first, last);
      Transaction transaction(*f.engine, Transaction::Mode::read);
      std::vector<Mapping> walked, due;
      f.log->each(transaction, first, last, [&](SnapshotId snapshot, const Mapping& mapping) {
        CHECK(snapshot >= first);
        walked.push_back(mapping);
        return true;
      });
      for (auto at = model.lower_bound({first, 0}); at != model.lower_bound({last, 0}); ++at) due.push_back(at->second);
      CHECK(walked == due);
      // A walk that stops and goes on in other transactions visits the same.
      std::vector<Mapping> in_pieces;
      Maplog::Place place;
      for (bool more = true; more;) {
        Transaction piece(*f.engine, Transaction::Mode::read);
        size_t left = 1 + random.below(7);
        more = false;
        const auto visit = [&](SnapshotId, const Mapping& mapping) {
          more = left-- == 0;
          if (!more) in_pieces.push_back(mapping);
          return !more;
        };
        f.log->each(piece, first, last, visit, &place);
      }
      CHECK(in_pieces == due);
    }
  }
}

TEST_CASE("a place behind the end of its node of a log of the past is refused") {
  Fixture f({.node_mappings = 4, .fan_in = 2, .height = 3});
  const storage::Table table = f.engine->internals().tables.open("past-test", {});
  Transaction transaction(*f.engine, Transaction::Mode::write);
  const SkippyNode node({{1, 7}}, {{1, 0}});
  base::Bytes node_key = "n", start_key = "s";
  base::append_be64(node_key.append(1, '\0'), 0);
  base::append_be64(start_key, 1);
  table.put(transaction, node_key, node.encode());
  table.put(transaction, start_key, base::Bytes("\0\2", 2));  // node 0, mapping 2
  const auto is_damage = [](const base::OperationError& error) {
    return error.code() == base::ErrorCode::data_corruption_detected;
  };
  CHECK_THROWS_MATCHES(f.log->page_table(transaction, 1), base::OperationError,
                       Catch::Predicate<base::OperationError>(is_damage));
  CHECK_THROWS_MATCHES(f.log->find(transaction, 1, 5), base::OperationError, Catch::Predicate<base::OperationError>(is_damage));
}

TEST_CASE("damaged rows of a log of the past are refused") {
  Fixture f({.node_mappings = 4, .fan_in = 2, .height = 3});
  in_transaction(*f.engine, [&](Transaction& transaction) {
    for (Stamp i = 1; i <= 40; ++i) f.log->append(transaction, i, i, {static_cast<RecordId>(i % 5 + 1), i});
    f.log->seal(transaction, 33);
  });
  const storage::Table table = f.engine->internals().tables.open("past-test", {});
  std::vector<std::pair<base::Bytes, base::Bytes>> rows;
  {
    Transaction transaction(*f.engine, Transaction::Mode::read);
    auto cursor = table.cursor(transaction);
    while (cursor.next()) rows.emplace_back(cursor.key(), cursor.value());
  }
  base::Random random(9);
  int refused = 0;
  for (const auto& [key, value] : rows) {
    for (int i = 0; i < 20; ++i) {
      base::Bytes damaged = value;
      damaged.resize(random.below(damaged.size()));
      Transaction transaction(*f.engine, Transaction::Mode::write);
      table.put(transaction, key, damaged);
      SkippyCache empty(1 << 20);
      const Maplog fresh(table, f.options, empty);
      try {
        for (SnapshotId snapshot = 1; snapshot <= 40; ++snapshot) fresh.page_table(transaction, snapshot);
      } catch (const base::OperationError& error) {
        CHECK(error.code() == base::ErrorCode::data_corruption_detected);
        ++refused;
      }
    }
  }
  CHECK(refused == static_cast<int>(rows.size()) * 20);
}
