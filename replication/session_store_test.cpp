#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <map>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "replication/committer.h"
#include "replication/session_store.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/testing/temporary_store.h"

using namespace replication;
using base::testing::code_of;
using storage::Stamp;
using storage::Store;
using storage::TemporaryDirectory;
using storage::Transaction;

namespace {

struct Member {
  explicit Member(const std::string& path, uint64_t oplog_bytes = 100 << 20)
      : store(storage::test_options(path)),
        oplog(store, oplog_bytes),
        committer(store, oplog, base::system_clock()),
        sessions(store, oplog) {}

  std::unique_ptr<SessionHistory> check_out(const Bytes& session, int64_t number) {
    return sessions.check_out(session, number, [] {});
  }
  // Each statement inserts a document; those that were executed before are left out. Returns how many were.
  int run(const Bytes& session, int64_t number, const std::vector<int32_t>& statements, bool commit = true) {
    const auto history = check_out(session, number);
    const auto collection = store.catalog().open_or_create("t.c");
    int known = 0;
    Transaction transaction(store, Transaction::Mode::write);
    history->begin();
    for (const int32_t statement : statements) {
      if (history->executed(statement)) {
        ++known;
        continue;
      }
      bson::Builder document;
      document.append("_id", bson::ObjectId::generate());
      const SessionWrite write = history->next(statement);
      const auto stored = committer.insert(transaction, *collection, document.done(), &write);
      history->wrote(statement, {stored.generation, 1});
    }
    history->save(transaction);
    if (commit) transaction.commit();
    return known;
  }

  Store store;
  Oplog oplog;
  LocalCommitter committer;
  SessionStore sessions;
};

Bytes session_named(char name) {
  return Bytes(SessionWrite::id_bytes, name);
}

}  // namespace

TEST_CASE("an entry keeps the session it was written in, and damage to it is noticed") {
  rc::check([] {
    Bytes id;
    for (size_t i = 0; i < SessionWrite::id_bytes; ++i) id.push_back(static_cast<char>(*rc::gen::arbitrary<uint8_t>()));
    const bson::Document o = bson::json("{_id: 1}");
    Entry entry;
    entry.op = 'd';
    entry.ns = "t.c";
    entry.term = *rc::gen::inRange<int64_t>(0, INT64_MAX);
    entry.o = o;
    entry.session =
        SessionWrite{id,
                     *rc::gen::arbitrary<int64_t>(),
                     *rc::gen::arbitrary<int32_t>(),
                     {*rc::gen::arbitrary<uint64_t>(), *rc::gen::arbitrary<int64_t>()},
                     *rc::gen::element(SessionWrite::Image::none, SessionWrite::Image::before, SessionWrite::Image::after)};
    Bytes row;
    encode(entry, row);
    const Entry back = decode(row).or_throw();
    RC_ASSERT(back.term == entry.term);
    RC_ASSERT(back.session.has_value());
    RC_ASSERT(back.session->session == BytesView(id));
    RC_ASSERT(back.session->txn_number == entry.session->txn_number);
    RC_ASSERT(back.session->statement == entry.session->statement);
    RC_ASSERT(back.session->previous == entry.session->previous);
    RC_ASSERT(back.session->image == entry.session->image);
    RC_ASSERT(oplog_document(7, back).size() == oplog_document_bytes(back));
    for (size_t cut = 0; cut < row.size(); ++cut) RC_ASSERT(!decode(BytesView(row).substr(0, cut)).ok());
  });
}

TEST_CASE("what was executed is known, also after a restart and in whatever order it came") {
  // Seeds of our own instead of many small cases: most of the time goes into opening the directory.
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    INFO("seed " << seed);
    base::Random random(seed);
    const TemporaryDirectory directory;
    auto member = std::make_unique<Member>(directory.path());
    std::map<Bytes, std::pair<int64_t, std::set<int32_t>>> model;
    for (int step = 0; step < 60; ++step) {
      const Bytes session = session_named(static_cast<char>('a' + random.below(3)));
      auto& [number, executed] = model.try_emplace(session, 0, std::set<int32_t>()).first->second;
      if (random.below(15) == 0) {
        member.reset();
        member = std::make_unique<Member>(directory.path());
      }
      const auto now = static_cast<int64_t>(number + static_cast<int64_t>(random.below(2)));
      std::vector<int32_t> statements;
      std::set<int32_t> distinct;
      for (uint64_t i = 0; i <= random.below(5); ++i) {
        const auto statement = static_cast<int32_t>(random.below(6));
        if (distinct.insert(statement).second) statements.push_back(statement);
      }
      const bool commit = random.below(5) != 0;
      if (now > number) executed.clear();
      int known = 0;
      for (const int32_t statement : statements) known += executed.contains(statement) ? 1 : 0;
      REQUIRE(member->run(session, now, statements, commit) == known);
      number = now;
      if (commit) executed.insert(statements.begin(), statements.end());
      if (number > 0 && commit) REQUIRE(code_of([&, n = number] { member->check_out(session, n - 1); }) == 225);
    }
  }
}

TEST_CASE("a write that was rolled back is not taken for executed") {
  const TemporaryDirectory directory;
  Member member(directory.path());
  CHECK(member.run(session_named('a'), 1, {0, 1}, false) == 0);
  CHECK(member.run(session_named('a'), 1, {0, 1}) == 0);
  CHECK(member.run(session_named('a'), 1, {0, 1, 2}) == 2);
}

TEST_CASE("where the log was cut, what is not known to have run is not run") {
  const TemporaryDirectory directory;
  {
    Member member(directory.path(), 1 << 20);
    member.run(session_named('a'), 1, {0});
    const auto collection = member.store.catalog().open_or_create("t.filler");
    for (int i = 0; i < 40; ++i) {  // removed contents stand in the log: it outgrows its size
      bson::Builder document;
      document.append("_id", i).append("text", std::string(100'000, static_cast<char>('a' + i % 26)));
      const bson::Document filler = document.done();
      const auto stored = storage::in_transaction(
          member.store, [&](Transaction& transaction) { return member.committer.insert(transaction, *collection, filler); });
      storage::in_transaction(
          member.store, [&](Transaction& transaction) { member.committer.remove(transaction, *collection, stored.id, filler); });
      if (i % 10 == 0) member.oplog.tend();
    }
    member.oplog.tend();
    member.run(session_named('a'), 1, {1});
  }
  Member member(directory.path(), 1 << 20);
  const auto history = member.check_out(session_named('a'), 1);
  CHECK(history->executed(1).has_value());
  CHECK(code_of([&] { history->executed(0); }) == 217);
}

TEST_CASE("a history whose reading was interrupted is read again, not taken for the whole") {
  const TemporaryDirectory directory;
  const Bytes session = session_named('a');
  std::vector<int32_t> statements;
  for (int32_t i = 0; i < 20; ++i) statements.push_back(i);
  {
    Member member(directory.path());
    CHECK(member.run(session, 7, statements) == 0);
  }
  struct Stop {};
  Member member(directory.path());
  for (int allowed = 0; allowed < 20; ++allowed) {
    int asked = 0;
    const base::Interrupted stop = [&] {
      if (asked++ == allowed) throw Stop();
    };
    const storage::InterruptibleWaits waits(&stop);
    CHECK_THROWS_AS(member.check_out(session, 7), Stop);
  }
  CHECK(member.run(session, 7, statements) == 20);
}

TEST_CASE("a session is lent to one at a time, and to nobody whose wait was interrupted") {
  const TemporaryDirectory directory;
  Member member(directory.path());
  auto first = member.check_out(session_named('a'), 1);
  CHECK(code_of([&] {
          member.sessions.check_out(session_named('a'), 1,
                                    [] { throw base::OperationError(base::ErrorCode::interrupted, "stop"); });
        }) == 11601);
  std::atomic<bool> got{false};
  std::thread second([&] {
    const auto history = member.check_out(session_named('a'), 1);
    got = true;
  });
  CHECK_FALSE(got);
  first.reset();
  second.join();
  CHECK(got);
}

TEST_CASE("a session knows which transaction it has committed, also after a restart") {
  TemporaryDirectory directory;
  const Bytes session(SessionWrite::id_bytes, 's');
  const auto nobody = [] {};
  OpTime committed = no_optime;
  {
    Member member(directory.path());
    CHECK(member.sessions.begin_transaction(session, 5, nobody));
    CHECK_FALSE(member.sessions.committed_transaction(session, 5, nobody).has_value());
    CHECK_THROWS_AS(member.sessions.begin_transaction(session, 4, nobody), base::OperationError);
    const auto collection = member.store.catalog().open_or_create("t.c");
    const auto history = member.check_out(session, 5);
    storage::in_transaction(member.store, [&](Transaction& transaction) {
      history->begin();
      Stamp last = 0;
      for (const bool end : {false, true}) {
        const SessionWrite write = history->transaction_part(end);
        last = member.committer.insert(transaction, *collection, bson::json(end ? "{_id: 2}" : "{_id: 1}"), &write).generation;
      }
      committed = {last, 1};
      history->ended_transaction(committed);
      history->save(transaction);
    });
    CHECK(history->committed_transaction() == committed);
  }
  Member member(directory.path());
  CHECK(member.sessions.committed_transaction(session, 5, nobody) == committed);
  CHECK_FALSE(member.sessions.begin_transaction(session, 5, nobody));
  // The session goes on with statements of their own.
  CHECK(member.run(session, 6, {0}) == 0);
  CHECK_FALSE(member.sessions.committed_transaction(session, 5, nobody).has_value());
  CHECK_FALSE(member.sessions.begin_transaction(session, 6, nobody));
  CHECK(member.run(session, 6, {0}) == 1);
}

TEST_CASE("records of sessions that ended go, others stay") {
  const TemporaryDirectory directory;
  Member member(directory.path());
  member.run(session_named('a'), 1, {0});
  member.run(session_named('b'), 1, {0});
  const auto b_lives = [](BytesView session) { return session[0] == 'b'; };
  CHECK(member.sessions.expire(member.committer, 0, b_lives) == 0);
  CHECK(member.sessions.expire(member.committer, INT64_MAX, b_lives) == 1);
  CHECK(member.store.catalog().open("config.transactions")->record_count() == 1);
  CHECK(member.run(session_named('b'), 1, {0}) == 1);
}
