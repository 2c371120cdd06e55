// Transactions of several statements against a model: what each sees, who conflicts with whom, and what is there afterwards.
#include <catch2/catch.hpp>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "base/random.h"
#include "base/testing.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/commands/test_server.h"
#include "server/core/metrics.h"
#include "server/core/services.h"

namespace server {
namespace {

using bson::json;
using Documents = std::map<int, int64_t>;  // _id -> n

// A session as a driver has it: each command carries its id and the transaction's number.
class Session {
 public:
  explicit Session(TestServer& server) : server_(server) {
    static uint64_t last = 0;
    id_.assign(8, 's');
    base::append_be64(id_, ++last);
  }

  void start() { ++number_, fresh_ = true; }
  bson::Document run(const std::string& db, bson::DocumentView command) {
    bson::Builder out;
    out.append_all(command).object("lsid").append("id", bson::Binary{4, id_});
    out.append("txnNumber", number_).append("autocommit", false);
    if (std::exchange(fresh_, false)) out.append("startTransaction", true);
    return server_.run(db, out.done());
  }
  bson::Document run(const std::string& db, const std::string& command) { return run(db, json(command)); }
  bson::Document commit() { return run("admin", R"({commitTransaction: 1})"); }
  bson::Document abort() { return run("admin", R"({abortTransaction: 1})"); }

 private:
  TestServer& server_;
  bson::Bytes id_;
  int64_t number_ = 0;
  bool fresh_ = false;
};

int32_t code_of(const bson::Document& reply) {
  if (reply["ok"].truthy()) {
    const auto errors = reply["writeErrors"];
    return errors.is_array() ? errors.as_document().first().as_document()["code"].as_int32() : 0;
  }
  return reply["code"].as_int32();
}

bool has_label(const bson::Document& reply, std::string_view label) {
  const auto labels = reply["errorLabels"];
  if (!labels.is_array()) return false;
  for (const auto& one : labels.as_document()) {
    if (one.as_string() == label) return true;
  }
  return false;
}

Documents documents_in(const bson::Document& reply) {
  Documents found;
  REQUIRE(code_of(reply) == 0);
  for (const auto& one : reply["cursor"].as_document()["firstBatch"].as_document())
    found[static_cast<int>(one.as_document()["_id"].to_int64())] = one.as_document()["n"].to_int64();
  return found;
}

// An Open transaction of the model knows what it sees and what it has written. The strings are names of databases; the test uses
// one collection of each.
struct Open {
  std::map<std::string, Documents> sees;  // with its own writes
  std::set<std::pair<std::string, int>> written;
  std::vector<std::pair<std::string, int>> touched;  // in order
};

class World {
 public:
  World(TestServer& server, std::vector<std::string> databases, uint64_t seed)
      : server_(server), databases_(std::move(databases)), random_(seed) {
    for (size_t i = 0; i < sessions; ++i) sessions_.emplace_back(server);
    open_.resize(sessions);
    for (const auto& db : databases_) now_[db] = read(db);
  }

  void step() {
    const size_t who = random_.below(sessions);
    if (!open_[who]) {
      if (random_.below(4) == 0) return write_alone();
      sessions_[who].start();
      open_[who].emplace().sees = now_;
      since_[who].clear();
    }
    switch (random_.below(8)) {
      case 0: return finish(who, true);
      case 1: return finish(who, random_.below(3) != 0);
      case 2: return check_read(who);
      default: return write(who);
    }
  }

  void check() {
    for (const auto& db : databases_) {
      INFO("database " << db);
      CHECK(read(db) == now_[db]);
    }
  }
  int conflicts() const { return conflicts_; }
  int commits() const { return commits_; }

 private:
  static constexpr size_t sessions = 3;
  static constexpr int ids = 6;

  Documents read(const std::string& db) { return documents_in(server_.run(db, json("{find: 'c', sort: {_id: 1}}"))); }

  void check_read(size_t who) {
    const std::string& db = databases_[random_.below(databases_.size())];
    Session& session = sessions_[who];
    const Documents& expected = open_[who]->sees[db];
    switch (random_.below(3)) {
      case 0: CHECK(documents_in(session.run(db, "{find: 'c', sort: {_id: -1}}")) == expected); break;
      case 1:
        CHECK(documents_in(session.run(db, "{aggregate: 'c', pipeline: [{$match: {n: {$gte: 0}}}], cursor: {}}")) == expected);
        break;
      default: {
        const int id = static_cast<int>(random_.below(ids));
        const Documents found = documents_in(session.run(db, "{find: 'c', filter: {_id: " + std::to_string(id) + "}}"));
        CHECK(found.size() == expected.count(id));
      }
    }
    if (random_.below(2) == 0) return;
    // The cursor gives one document after the other.
    Documents all;
    const auto add = [&](const bson::ValueView& batch) {
      for (const auto& one : batch.as_document())
        all[static_cast<int>(one.as_document()["_id"].to_int64())] = one.as_document()["n"].to_int64();
    };
    bson::Document reply = session.run(db, "{find: 'c', batchSize: 1}");
    add(reply["cursor"].as_document()["firstBatch"]);
    for (int64_t id = reply["cursor"].as_document()["id"].as_int64(); id != 0;) {
      bson::Builder more;
      more.append("getMore", id).append("collection", "c").append("batchSize", 1);
      reply = session.run(db, more.done());
      REQUIRE(code_of(reply) == 0);
      add(reply["cursor"].as_document()["nextBatch"]);
      id = reply["cursor"].as_document()["id"].as_int64();
    }
    CHECK(all == expected);
  }

  bool written_by_another(size_t who, const std::string& db, int id) const {
    for (size_t other = 0; other < sessions; ++other) {
      if (other != who && open_[other] && open_[other]->written.contains({db, id})) return true;
    }
    return false;
  }

  // A write outside of any transaction would wait for one that has written the document.
  void write_alone() {
    const std::string& db = databases_[random_.below(databases_.size())];
    const int id = static_cast<int>(random_.below(ids));
    if (written_by_another(sessions, db, id)) return;
    const int64_t n = ++values_;
    server_.expect(db,
                   "{update: 'c', updates: [{q: {_id: " + std::to_string(id) + "}, u: {$set: {n: " + std::to_string(n) +
                       "}}, upsert: true}]}",
                   "{ok: 1}");
    committed(db, id, n);
  }

  void committed(const std::string& db, int id, std::optional<int64_t> n) {
    if (n)
      now_[db][id] = *n;
    else
      now_[db].erase(id);
    for (auto& [who, changed] : since_) changed.insert({db, id});
  }

  void write(size_t who) {
    const std::string& db = databases_[random_.below(databases_.size())];
    const int id = static_cast<int>(random_.below(ids));
    Open& open = *open_[who];
    Documents& sees = open.sees[db];
    const bool there = sees.contains(id);
    const std::string q = "{_id: " + std::to_string(id) + "}", n = std::to_string(++values_);
    bson::Document reply;
    const uint64_t kind = random_.below(4);
    if (kind == 0)
      reply = sessions_[who].run(db, "{insert: 'c', documents: [{_id: " + std::to_string(id) + ", n: " + n + "}]}");
    else if (kind == 1)
      reply = sessions_[who].run(db, "{delete: 'c', deletes: [{q: " + q + ", limit: 1}]}");
    else if (kind == 2)
      reply = sessions_[who].run(db, "{findAndModify: 'c', query: " + q + ", update: {$set: {n: " + n + "}}}");
    else
      reply =
          sessions_[who].run(db, "{update: 'c', updates: [{q: " + q + ", u: {_id: " + std::to_string(id) + ", n: " + n + "}}]}");
    INFO(db << " " << id << " " << kind << ": " << bson::to_shell(reply));

    const bool own = open.written.contains({db, id});
    const bool lost = written_by_another(who, db, id) || (!own && since_[who].contains({db, id}));
    if (kind == 0 ? !there && lost : there && lost) {
      CHECK(code_of(reply) == 112);
      CHECK(has_label(reply, "TransientTransactionError"));
      ++conflicts_;
      return aborted(who);
    }
    if (kind == 0 && there) {
      const int32_t code = code_of(reply);
      CHECK((code == 11000 || (lost && code == 112)));
      return aborted(who);
    }
    REQUIRE(code_of(reply) == 0);
    if (kind != 0 && !there) return;
    open.written.insert({db, id});
    open.touched.emplace_back(db, id);
    if (kind == 1)
      sees.erase(id);
    else
      sees[id] = values_;
  }

  void aborted(size_t who) {
    const bson::Document reply = sessions_[who].run(databases_.front(), "{find: 'c'}");
    CHECK(code_of(reply) == 251);
    open_[who].reset();
    since_.erase(who);
  }

  void finish(size_t who, bool commit) {
    const Open open = std::move(*open_[who]);
    open_[who].reset();
    since_.erase(who);
    // One without a statement was never begun.
    const bson::Document reply = commit ? sessions_[who].commit() : sessions_[who].abort();
    INFO(bson::to_shell(reply));
    if (reply["code"].is_number() && (reply["code"].as_int32() == 263 || reply["code"].as_int32() == 251)) {
      CHECK(open.written.empty());
      return;
    }
    REQUIRE(code_of(reply) == 0);
    if (!commit) return;
    ++commits_;
    for (const auto& [db, id] : open.written) {
      const auto& sees = open.sees.at(db);
      const auto found = sees.find(id);
      committed(db, id, found == sees.end() ? std::nullopt : std::optional(found->second));
    }
    CHECK(code_of(sessions_[who].commit()) == 0);  // a driver that had no answer asks again
  }

  TestServer& server_;
  const std::vector<std::string> databases_;
  base::Random random_;
  std::vector<Session> sessions_;
  std::vector<std::optional<Open>> open_;
  std::map<size_t, std::set<std::pair<std::string, int>>> since_;  // what others committed since it began
  std::map<std::string, Documents> now_;
  int64_t values_ = 0;
  int conflicts_ = 0, commits_ = 0;
};

void play(TestServer& server, const std::vector<std::string>& databases, uint64_t seed, int steps) {
  INFO("seed " << seed);
  World world(server, databases, seed);
  for (int i = 0; i < steps; ++i) world.step();
  world.check();
  CHECK(world.conflicts() > 0);
  CHECK(world.commits() > 0);
  server.expect("admin", "{killAllSessions: []}", "{ok: 1}");
}

}  // namespace

TEST_CASE("transactions see, conflict and commit as the model does") {
  TestServer server(TestServer::SetOfOne{});
  server.expect("test", "{createIndexes: 'c', indexes: [{key: {n: 1}, name: 'n'}]}", "{ok: 1}");
  play(server, {"test"}, base::testing::seed(), 1500);
  server.expect("test", "{validate: 'c', full: true}", "{ok: 1, valid: true}");
}

TEST_CASE("transactions write to several databases and branches at once") {
  TestServer server(TestServer::SetOfOne{});
  server.expect("shop", "{insert: 'c', documents: [{_id: 0, n: 0}, {_id: 1, n: 0}]}", "{ok: 1}");
  server.expect("shop", "{createBranch: 'dev'}", "{ok: 1}");
  server.expect("other", "{insert: 'c', documents: [{_id: 0, n: 0}]}", "{ok: 1}");
  const uint64_t seed = base::testing::seed();
  for (uint64_t round = 0; round < 3; ++round) {
    play(server, {"shop", "shop@dev", "other"}, seed + round, 500);
    server.expect("shop@dev", "{commit: 'round'}", "{ok: 1}");
    server.expect("shop", "{createSnapshot: 1, name: 'r" + std::to_string(round) + "'}", "{ok: 1}");
  }
  for (const char* db : {"shop", "shop@dev", "other"}) server.expect(db, "{validate: 'c', full: true}", "{ok: 1, valid: true}");
}

TEST_CASE("a snapshot and a commit that come between a transaction's statements show nothing of it") {
  TestServer server(TestServer::SetOfOne{});
  server.expect("shop", "{insert: 'c', documents: [{_id: 1, n: 0}, {_id: 2, n: 0}]}", "{ok: 1}");
  server.expect("shop", "{createBranch: 'dev'}", "{ok: 1}");
  Session session(server);
  session.start();
  const auto update = [&](const char* db, int id) {
    CHECK(code_of(session.run(db, "{update: 'c', updates: [{q: {_id: " + std::to_string(id) + "}, u: {$inc: {n: 1}}}]}")) == 0);
  };
  update("shop", 1);
  update("shop@dev", 1);
  server.expect("shop@dev", "{commit: 'between'}", "{ok: 1}");
  server.expect("shop", "{createSnapshot: 1, name: 'between'}", "{ok: 1}");
  update("shop", 2);
  update("shop@dev", 2);
  CHECK(code_of(session.commit()) == 0);
  server.expect("shop@dev", "{commit: 'after'}", "{ok: 1}");
  const auto total = [&](const std::string& db) {
    int64_t sum = 0;
    for (const auto& [id, n] : documents_in(server.run(db, json("{find: 'c'}")))) sum += n;
    return sum;
  };
  CHECK(total("shop") == 2);
  CHECK(total("shop@dev") == 2);
  CHECK(total("shop@between") == 0);
  CHECK(total("shop@dev@between") == 0);
  CHECK(total("shop@dev~1") == 0);
}

TEST_CASE("collections and indexes of a transaction are there with its commit, and gone with its end") {
  TestServer server(TestServer::SetOfOne{});
  Session session(server);
  for (const bool commit : {false, true}) {
    session.start();
    CHECK(code_of(session.run("test", "{create: 'made'}")) == 0);
    CHECK(code_of(session.run("test", "{createIndexes: 'made', indexes: [{key: {u: 1}, name: 'u', unique: true}]}")) == 0);
    CHECK(code_of(session.run("test", "{insert: 'made', documents: [{_id: 1, u: 1}]}")) == 0);
    CHECK(code_of(session.run("test", "{insert: 'implicit', documents: [{_id: 1}]}")) == 0);
    CHECK(documents_in(session.run("test", "{find: 'implicit', projection: {n: {$literal: 1}}}")).size() == 1);
    server.expect("{listCollections: 1}", "{cursor: {firstBatch: []}}");
    CHECK(code_of(commit ? session.commit() : session.abort()) == 0);
    server.expect("local", "{listCollections: 1, filter: {name: {$regex: '^system.transaction'}}}", "{cursor: {firstBatch: []}}");
  }
  CHECK(server.documents("{find: 'made'}") == "[{_id: 1, u: 1}]");
  CHECK(server.documents("{find: 'implicit'}") == "[{_id: 1}]");
  server.expect("{insert: 'made', documents: [{_id: 2, u: 1}]}", "{writeErrors: [{code: 11000}]}");
}

TEST_CASE("nobody takes a key from a transaction that commits, however hard they try") {
  TestServer server(TestServer::SetOfOne{});
  if (GENERATE(true, false)) server.expect("{create: 'c', clusteredIndex: {key: {_id: 1}, unique: true}}", "{ok: 1}");
  server.expect("{createIndexes: 'c', indexes: [{key: {u: 1}, name: 'u_1', unique: true}]}", "{ok: 1}");
  const bool same_id = GENERATE(true, false);
  std::atomic<int> round{0};
  // Each of them tries to have the same key as the transaction's document.
  std::vector<std::thread> others;
  for (int other = 0; other < 3; ++other) {
    others.emplace_back([&, other] {
      for (int at = 0; (at = round) >= 0;) {
        if (at == 0) continue;
        const std::string id = same_id ? std::to_string(at) : "'" + std::to_string(at) + " of " + std::to_string(other) + "'";
        server.run(json("{insert: 'c', documents: [{_id: " + id + ", u: " + std::to_string(at) + ", by: 'others'}]}"));
        while (round == at) {
          server.run(json("{update: 'c', updates: [{q: {_id: 'taken', u: {$ne: " + std::to_string(at) +
                          "}}, u: {$set: {u: " + std::to_string(at) + "}}, upsert: true}]}"));
        }
      }
    });
  }
  Session session(server);
  const base::Counter& conflicts = server.services().metrics.operation_ends.write_conflicts;
  constexpr int transactions = 60;
  int committed = 0;
  for (int at = 1; at <= transactions; ++at) {
    const std::string number = std::to_string(at);
    session.start();
    CHECK(code_of(session.run("test", "{insert: 'c', documents: [{_id: " + number + ", u: " + number + ", by: 'session'}]}")) ==
          0);
    const int64_t before = conflicts.get();
    round = at;
    CHECK(base::testing::wait_until([&] { return conflicts.get() > before; }));
    committed += code_of(session.commit()) == 0;
  }
  round = -1;
  for (std::thread& other : others) other.join();
  CHECK(committed == transactions);
}

TEST_CASE("a transaction is one entry in the log, or a chain above 16 MB") {
  TestServer server(TestServer::SetOfOne{});
  server.expect("{create: 'c'}", "{ok: 1}");
  Session session(server);
  session.start();
  CHECK(code_of(session.run("test", "{insert: 'c', documents: [{_id: 1}, {_id: 2}]}")) == 0);
  CHECK(code_of(session.run("test", "{update: 'c', updates: [{q: {_id: 1}, u: {$set: {a: 1}}}]}")) == 0);
  CHECK(code_of(session.run("test", "{delete: 'c', deletes: [{q: {_id: 2}, limit: 1}]}")) == 0);
  CHECK(code_of(session.commit()) == 0);
  const auto newest = [&](int64_t count) {
    return server.run(
        "local",
        json("{find: 'oplog.rs', filter: {ns: 'admin.$cmd'}, sort: {$natural: -1}, limit: " + std::to_string(count) + "}"));
  };
  bson::Document reply = newest(5);
  const auto entries = reply["cursor"].as_document()["firstBatch"].as_document();
  REQUIRE(entries.count() == 1);
  const auto entry = entries.first().as_document();
  CHECK(entry["txnNumber"].as_int64() == 1);
  CHECK(entry["prevOpTime"].as_document()["t"].as_int64() == -1);
  std::string kinds;
  for (const auto& one : entry["o"].as_document()["applyOps"].as_document()) kinds += one.as_document()["op"].as_string();
  CHECK(kinds == "iiud");

  session.start();
  const std::string text(6 << 20, 'x');
  for (int i = 10; i < 15; ++i) {
    bson::Builder document;
    document.append("_id", i).append("text", text);
    bson::Builder command;
    command.append("insert", "c");
    command.array("documents").append(document.done());
    CHECK(code_of(session.run("test", command.done())) == 0);
  }
  CHECK(code_of(session.commit()) == 0);
  // One batch has only one of them.
  std::vector<std::pair<size_t, bool>> chain;  // operations; partial
  bson::Timestamp before{};
  for (bson::Document cursor = server.run("local", json("{find: 'oplog.rs', filter: {ns: 'admin.$cmd', txnNumber: 2}}"));;) {
    const auto state = cursor["cursor"].as_document();
    for (const auto& one : (state.has("firstBatch") ? state["firstBatch"] : state["nextBatch"]).as_document()) {
      const auto shown = one.as_document();
      chain.emplace_back(shown["o"].as_document()["applyOps"].as_document().count(),
                         shown["o"].as_document()["partialTxn"].truthy());
      CHECK(shown["prevOpTime"].as_document()["ts"].as_timestamp() == before);
      before = shown["ts"].as_timestamp();
    }
    const int64_t id = state["id"].as_int64();
    if (id == 0) break;
    bson::Builder more;
    more.append("getMore", id).append("collection", "oplog.rs");
    cursor = server.run("local", more.done());
  }
  CHECK(chain == std::vector<std::pair<size_t, bool>>{{2, true}, {2, true}, {1, false}});
}

}  // namespace server
