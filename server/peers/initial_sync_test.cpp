#include "server/peers/initial_sync.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/hash.h"
#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "server/assembly/assembly.h"
#include "server/peers/backup_host.h"
#include "server/peers/file_blocks.h"
#include "server/peers/peer_client.h"
#include "server/wire/listener.h"
#include "storage/testing/temporary_store.h"
#include "storage/upkeep/replace_directory.h"
#include "storage/upkeep/validate.h"

using namespace server;
using namespace server::peers;
using base::OperationError;
using bson::json;

namespace fs = std::filesystem;

namespace {

// Returns a port on which nobody listens now.
int free_port() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
  ::close(socket);
  return ntohs(address.sin_port);
}

Options set_options(const std::string& dbpath, int port = 27017) {
  Options options;
  options.dbpath = dbpath;
  options.repl_set = "rs";
  options.cache_gb = 0.1;
  options.oplog_mb = 1000;
  options.port = port;
  options.unix_socket = false;
  return options;
}

// The primary of a set, without sockets.
struct Source {
  storage::TemporaryDirectory directory;
  Assembly server;

  explicit Source(int documents = 300, int port = 27017) : server(set_options(directory.path(), port)) {
    const std::string host = "localhost:" + std::to_string(port);
    REQUIRE(server.run("admin", json("{replSetInitiate: {_id: 'rs', members: [{_id: 0, host: '" + host + "'}]}}"))["ok"]
                .to_double() == 1);
    REQUIRE(base::testing::wait_until([&] { return server.run("admin", json("{hello: 1}"))["isWritablePrimary"].as_bool(); }));
    insert(0, documents);
  }
  void insert(int from, int count) {
    base::Random random(7);
    bson::Builder command;
    command.append("insert", "orders");
    {
      auto documents = command.array("documents");
      for (int i = 0; i < count; ++i) {
        std::string text;
        for (int n = 0; n < 200; ++n) text += std::to_string(random.below(1'000'000));
        documents.object().append("_id", from + i).append("text", text);
      }
    }
    REQUIRE(server.run("shop", command.done())["n"].to_int64() == count);
  }
  bson::Document call(bson::DocumentView command) {
    bson::Document reply = server.run("admin", command);
    if (reply["ok"].to_double() != 1)
      throw OperationError(static_cast<int32_t>(reply["code"].to_int64()), std::string(reply["errmsg"].as_string()));
    return reply;
  }
};

InitialSyncOptions quick(const std::string& dbpath) {
  InitialSyncOptions options;
  options.dbpath = dbpath;
  options.self = "localhost:22001";
  options.pause_ms = 1;
  options.reread_ms = 1;
  options.unreachable_ms = 2000;
  options.read_bytes = 20'000;
  return options;
}

InitialSyncNeeds needs(std::function<bson::Document(const std::string&, bson::DocumentView)> call) {
  InitialSyncNeeds needs;
  needs.source = [] { return "a:1"; };
  needs.call = std::move(call);
  needs.stop_voting = [] { return OwnVote{7, uint64_t{1} << 62}; };
  return needs;
}

bson::Document status(const InitialSync& sync) {
  bson::Builder out;
  sync.append_status(out);
  return out.done();
}

// Checks the copy as the next start finds it.
void require_copied(const std::string& dbpath, int64_t documents) {
  REQUIRE(storage::place_copy(dbpath) == storage::Replaced::replaced);
  const auto origin = copy_origin(dbpath);
  REQUIRE(origin);
  CHECK(origin->vote.term == 7);
  CHECK(origin->vote.vote == uint64_t{1} << 62);
  CHECK(origin->source == "a:1");
  storage::Store store(storage::test_options(dbpath));
  const auto collection = store.catalog().open("shop.orders");
  REQUIRE(collection);
  CHECK(collection->record_count() >= documents);
  const auto report = storage::validate_collection(store, collection, true);
  for (const std::string& error : report.errors) FAIL_CHECK(error);
  CHECK(report.valid);
  storage::forget_copied(dbpath);
  CHECK_FALSE(copy_origin(dbpath));
}

std::string command_name(bson::DocumentView command) {
  return std::string(command.first().name);
}

std::string why_failed(InitialSync& sync) {
  std::string why;
  base::testing::error_of([&] { sync.run(); }, &why);
  return why;
}

}  // namespace

TEST_CASE("a member copies another that goes on writing") {
  Source source;
  storage::TemporaryDirectory target;
  int written = 300;
  InitialSync sync(base::system_clock(), quick(target.path()), needs([&](const std::string&, bson::DocumentView command) {
                     if (written < 600) source.insert(written, 10), written += 10;
                     return source.call(command);
                   }));
  sync.run();
  const bson::Document shown = status(sync);
  CHECK(shown["failedInitialSyncAttempts"].to_int64() == 0);
  CHECK(shown["approxTotalDataSize"].to_int64() > 100'000);
  CHECK(shown["approxTotalBytesCopied"].to_int64() == shown["approxTotalDataSize"].to_int64());
  CHECK(shown["filesCopied"].to_int64() == shown["filesTotal"].to_int64());
  CHECK(shown["remainingInitialSyncEstimatedMillis"].to_int64() == 0);
  CHECK(written == 600);
  require_copied(target.path(), 300);
}

TEST_CASE("it goes over the wire, and over connections that are closed between") {
  const int port = free_port();
  Source source(1000, port);
  wire::Listener listener(source.server.services(), source.server.dispatcher());
  listener.start();
  PeerClient client("127.0.0.1:" + std::to_string(port));
  storage::TemporaryDirectory target;
  base::Random random(5);
  InitialSyncOptions options = quick(target.path());
  options.read_bytes = InitialSyncOptions().read_bytes;
  InitialSync sync(base::system_clock(), options, needs([&](const std::string&, bson::DocumentView command) {
                     if (random.below(3) == 0) client.close();
                     return client.run("admin", command);
                   }));
  sync.run();
  require_copied(target.path(), 1000);
  client.close();
  listener.stop();
}

TEST_CASE("a member that was a copy before gets only what differs, and what is damaged in its own files") {
  Source source(2000);
  storage::TemporaryDirectory target;
  uint64_t sent = 0;
  bool in_blocks = true;
  const auto call = [&](const std::string&, bson::DocumentView command) {
    const bson::Document reply = source.call(command);
    if (command_name(command) == "_initialSyncRead")
      sent += reply["data"].as_binary().bytes.size() + static_cast<uint64_t>(reply["zeros"].to_int64());
    if (in_blocks || command_name(command) != "_initialSyncBegin") return reply;
    bson::Builder older;
    for (const auto& field : reply.view()) {
      if (field.name != "blockBytes") older.append_element(field);
    }
    return older.done();
  };
  const auto copy = [&] {
    sent = 0;
    InitialSync sync(base::system_clock(), quick(target.path()), needs(call));
    sync.run();
    return status(sync);
  };
  CHECK(copy()["approxTotalBytesOwn"].to_int64() == 0);
  require_copied(target.path(), 2000);

  source.insert(2000, 10);
  int damaged = 0;
  for (const auto& file : fs::directory_iterator(target.path())) {
    const std::string name = file.path().filename().string();
    if (name.rfind("records-", 0) != 0 || file.file_size() < 100'000) continue;
    std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary).seekp(50'000) << "damage";
    ++damaged;
  }
  REQUIRE(damaged == 1);
  const bson::Document shown = copy();
  CHECK(shown["approxTotalBytesCopied"].to_int64() == shown["approxTotalDataSize"].to_int64());
  const auto own = static_cast<uint64_t>(shown["approxTotalBytesOwn"].to_int64());
  CHECK(own > 1'000'000);
  CHECK(sent + own == static_cast<uint64_t>(shown["approxTotalDataSize"].to_int64()));
  require_copied(target.path(), 2010);

  in_blocks = false;  // a source of an older version knows nothing of blocks
  const bson::Document whole = copy();
  CHECK(whole["approxTotalBytesOwn"].to_int64() == 0);
  CHECK(sent == static_cast<uint64_t>(whole["approxTotalDataSize"].to_int64()));
  require_copied(target.path(), 2010);
}

TEST_CASE("answers about blocks that don't fit are refused") {
  Source source(10);
  storage::TemporaryDirectory target;
  InitialSync first(base::system_clock(), quick(target.path()),
                    needs([&](const std::string&, bson::DocumentView command) { return source.call(command); }));
  first.run();
  require_copied(target.path(), 10);
  const auto with = [&](std::string_view same, const std::string& data) {
    InitialSyncOptions options = quick(target.path());
    options.attempts_max = 1;
    InitialSync sync(base::system_clock(), options, needs([&](const std::string&, bson::DocumentView command) {
                       bson::Document reply = source.call(command);
                       if (!command.find("have")) return reply;
                       bson::Builder changed;
                       if (!same.empty()) changed.append("same", bson::Binary{0, same});
                       changed.append("data", bson::Binary{0, data}).append("zeros", 0);
                       changed.append("checksum", static_cast<int64_t>(part_checksum(same, data, 0)));
                       return changed.done();
                     }));
    return why_failed(sync);
  };
  CHECK(with("", "abc").find("in blocks, or should be") != std::string::npos);
  CHECK(with("\x01\x01", "").find("don't make the part") != std::string::npos);
  CHECK(with("\x01", "abc").find("don't make the part") != std::string::npos);
  CHECK(with(std::string_view("\0", 1), "abc").find("don't make the part") != std::string::npos);
}

TEST_CASE("if the connection breaks, the copy continues with the same backup at the same place") {
  Source source;
  storage::TemporaryDirectory target;
  base::Random random(3);
  int begun = 0;
  InitialSync sync(base::system_clock(), quick(target.path()), needs([&](const std::string&, bson::DocumentView command) {
                     const uint64_t luck = random.below(4);
                     if (luck == 0) throw OperationError(base::ErrorCode::host_unreachable, "connection refused");
                     bson::Document reply = source.call(command);
                     if (luck == 1) throw OperationError(base::ErrorCode::network_timeout, "the answer was lost");
                     if (command_name(command) == "_initialSyncBegin") ++begun;
                     return reply;
                   }));
  sync.run();
  CHECK(begun == 1);
  CHECK(status(sync)["failedInitialSyncAttempts"].to_int64() == 0);
  require_copied(target.path(), 300);
}

TEST_CASE("if the backup is gone, the copy begins anew, and uses nothing of the old one") {
  Source source;
  storage::TemporaryDirectory target;
  int reads = 0, begun = 0;
  InitialSync sync(base::system_clock(), quick(target.path()), needs([&](const std::string&, bson::DocumentView command) {
                     if (command_name(command) == "_initialSyncBegin") ++begun;
                     if (command_name(command) == "_initialSyncRead" && ++reads == 5) {
                       bson::Builder end;
                       end.append("_initialSyncEnd", 1).append_element(command.find("backupId"));
                       source.call(end.done());
                       std::ofstream(target.path() + "/_sync/records-999.wt") << "left over";
                     }
                     return source.call(command);
                   }));
  sync.run();
  CHECK(begun == 2);
  const bson::Document shown = status(sync);
  CHECK(shown["failedInitialSyncAttempts"].to_int64() == 1);
  const std::string text = bson::to_json(shown);
  CHECK(text.find("CursorNotFound") != text.npos);
  CHECK_FALSE(fs::exists(target.path() + "/_sync/records-999.wt"));
  require_copied(target.path(), 300);
}

TEST_CASE("after the last attempt the reason of each is reported, and nothing is left that looks complete") {
  storage::TemporaryDirectory target;
  int calls = 0, source = 0;
  InitialSyncNeeds asked = needs([&](const std::string& from, bson::DocumentView) -> bson::Document {
    ++calls;
    throw OperationError(base::ErrorCode::not_primary_or_secondary, "no data at " + from);
  });
  asked.source = [&]() -> std::optional<std::string> {
    if (++source % 2) return std::nullopt;  // none for now isn't a failure
    return "h" + std::to_string(source) + ":1";
  };
  InitialSync sync(base::system_clock(), quick(target.path()), asked);
  const std::string why = why_failed(sync);
  CHECK(calls == 10);
  CHECK(why.find("h2:1: NotPrimaryOrSecondary: no data at h2:1") != why.npos);
  CHECK(why.find("h20:1") != why.npos);
  CHECK(status(sync)["failedInitialSyncAttempts"].to_int64() == 10);
  CHECK(storage::place_copy(target.path()) == storage::Replaced::nothing);
}

TEST_CASE("a busy source is asked again, and costs no attempt") {
  Source source;
  storage::TemporaryDirectory target;
  const bson::Document other = source.call(json("{_initialSyncBegin: 1, for: 'other:1'}"));
  int busy = 0;
  InitialSync sync(base::system_clock(), quick(target.path()), needs([&](const std::string&, bson::DocumentView command) {
                     try {
                       return source.call(command);
                     } catch (const OperationError& error) {
                       REQUIRE(static_cast<int32_t>(error.code()) == BackupHost::busy);
                       if (++busy == 3) {
                         bson::Builder end;
                         end.append("_initialSyncEnd", 1).append_element(other["backupId"]);
                         source.call(end.done());
                       }
                       throw;
                     }
                   }));
  sync.run();
  CHECK(busy == 3);
  CHECK(status(sync)["failedInitialSyncAttempts"].to_int64() == 0);
}

TEST_CASE("answers that would do harm are refused") {
  Source source(10);
  const auto with = [&](const std::function<bson::Document(bson::DocumentView, bson::Document)>& change) {
    storage::TemporaryDirectory target;
    InitialSyncOptions options = quick(target.path());
    options.attempts_max = 1;
    InitialSync sync(base::system_clock(), options, needs([&](const std::string&, bson::DocumentView command) {
                       return change(command, source.call(command));
                     }));
    const std::string why = why_failed(sync);
    CHECK_FALSE(fs::exists(target.path() + "/_sync/complete"));
    CHECK_FALSE(fs::exists(target.path() + "/../escaped.wt"));
    return why;
  };
  const auto files = [&](const char* list) {
    return with([=](bson::DocumentView command, bson::Document reply) {
      return command_name(command) == "_initialSyncFiles" ? json(std::string("{files: ") + list + ", ok: 1}") : reply;
    });
  };
  const auto read = [&](const std::function<bson::Document()>& answer) {
    return with([=](bson::DocumentView command, bson::Document reply) {
      return command_name(command) == "_initialSyncRead" ? answer() : reply;
    });
  };
  CHECK(files("[{name: '../escaped.wt', bytes: 3}]").find("none of a data directory") != std::string::npos);
  CHECK(files("[{name: 'mongod.lock', bytes: 3}]").find("none of a data directory") != std::string::npos);
  CHECK(files("[{name: 'a.wt', bytes: 3}, {name: 'a.wt', bytes: 3}]").find("twice") != std::string::npos);
  CHECK(files("[{name: 'a.wt', bytes: -3}]").find("makes no sense") != std::string::npos);
  CHECK(files("[{name: 7, bytes: 3}]").find("makes no sense") != std::string::npos);
  CHECK(files("[]").find("fewer files") != std::string::npos);
  CHECK(files("7").find("fewer files") != std::string::npos);
  CHECK(read([] {
          return json("{same: BinData(0, 'AQ=='), data: BinData(0, ''), zeros: 0, checksum: NumberLong(5), ok: 1}");
        }).find("in blocks, or should be") != std::string::npos);
  CHECK(read([] {
          return json("{data: BinData(0, 'AAAA'), zeros: 0, checksum: NumberLong(5), ok: 1}");
        }).find("arrives damaged") != std::string::npos);
  CHECK(read([] { return json("{data: 'text', checksum: NumberLong(5), ok: 1}"); }).find("makes no sense") != std::string::npos);
  CHECK(read([] {
          const std::string much(30'000, 'x');
          bson::Builder reply;
          reply.append("data", bson::Binary{0, much})
              .append("zeros", 0)
              .append("checksum", static_cast<int64_t>(base::hash64(much)));
          return reply.done();
        }).find("were asked for") != std::string::npos);
  CHECK(read([] { return json("{data: BinData(0, ''), zeros: 0, checksum: NumberLong(5), ok: 1}"); }).find("0 bytes") !=
        std::string::npos);
  CHECK(read([] {
          return json("{data: BinData(0, 'AAAA'), zeros: NumberLong('9223372036854775807'), checksum: NumberLong(5), ok: 1}");
        }).find("were asked for") != std::string::npos);
  int reads = 0;
  const std::string of_another_version = with([&](bson::DocumentView command, bson::Document reply) {
    if (command_name(command) != "_initialSyncRead") return reply;
    ++reads;
    std::string text(reply["data"].as_binary().bytes);
    for (char& digit : text) digit = digit >= '0' && digit <= '9' ? '9' : digit;
    bson::Builder changed;
    changed.append("data", bson::Binary{0, text}).append("zeros", 0).append("checksum", static_cast<int64_t>(base::hash64(text)));
    return changed.done();
  });
  CHECK(of_another_version.find("UnsupportedFormat") != std::string::npos);
  CHECK(reads == 1);
}

TEST_CASE("a copy that doesn't fit on the disk waits for room, and is no failed attempt") {
  Source source(10);
  storage::TemporaryDirectory target;
  std::atomic<bool> fits = false;
  std::atomic<int> asked = 0;
  InitialSyncOptions options = quick(target.path());
  options.attempts_max = 2;
  options.look_ms = options.ask_again_ms = 1;
  InitialSync sync(base::system_clock(), options, needs([&](const std::string&, bson::DocumentView command) {
                     bson::Document reply = source.call(command);
                     if (command_name(command) != "_initialSyncFiles" || fits) return reply;
                     ++asked;
                     bson::Builder changed;
                     {
                       auto list = changed.array("files");
                       for (const auto& file : reply["files"].as_document()) {
                         list.object().append_element(file.as_document().find("name")).append("bytes", int64_t{1} << 50);
                       }
                     }
                     return changed.done();
                   }));
  std::string why;
  std::thread copies([&] { why = why_failed(sync); });
  CHECK(base::testing::wait_until([&] { return asked > 3; }));
  CHECK(sync.waits_for_room());
  const bson::Document waiting = status(sync);
  CHECK(waiting["waitsForDiskSpace"].as_bool());
  CHECK(waiting["diskSpaceNeeded"].to_int64() > int64_t{1} << 50);
  CHECK(waiting["diskSpaceFree"].to_int64() < int64_t{1} << 50);
  CHECK(waiting["failedInitialSyncAttempts"].to_int64() == 0);
  fits = true;
  copies.join();
  CHECK(why == "");
  CHECK_FALSE(sync.waits_for_room());
  CHECK(status(sync)["failedInitialSyncAttempts"].to_int64() == 0);
  require_copied(target.path(), 10);
}

TEST_CASE("a sync that waits for room on the disk can be interrupted") {
  Source source(10);
  storage::TemporaryDirectory target;
  InitialSyncOptions options = quick(target.path());
  options.reserve_bytes = uint64_t{1} << 60;
  options.look_ms = options.ask_again_ms = 600'000;
  InitialSync sync(base::system_clock(), options,
                   needs([&](const std::string&, bson::DocumentView command) { return source.call(command); }));
  std::thread later([&] {
    base::testing::wait_until([&] { return sync.waits_for_room(); });
    sync.interrupt();
  });
  CHECK(why_failed(sync) == "initial sync was interrupted");
  later.join();
}

TEST_CASE("a source that isn't far enough is left, and may lend its backup to the next at once") {
  Source source(10);
  storage::TemporaryDirectory target;
  InitialSyncNeeds asked = needs([&](const std::string&, bson::DocumentView command) { return source.call(command); });
  int looked = 0;
  asked.refuse = [&](bson::DocumentView begun) -> std::string {
    CHECK(begun["lastCommittedOpTime"].is_object());
    CHECK(begun["term"].to_int64() >= 1);
    return ++looked == 1 ? "it is behind" : "";
  };
  InitialSync sync(base::system_clock(), quick(target.path()), asked);
  sync.run();
  CHECK(looked == 2);
  CHECK(bson::to_json(status(sync)).find("it is behind") != std::string::npos);
  CHECK(source.call(json("{_initialSyncBegin: 1, for: 'other:1'}"))["backupId"].to_int64() > 0);
}

TEST_CASE("a sync that is interrupted ends soon") {
  storage::TemporaryDirectory target;
  std::atomic<bool> tried = false;
  InitialSyncNeeds asked = needs([&](const std::string&, bson::DocumentView) -> bson::Document {
    tried = true;
    throw OperationError(base::ErrorCode::host_unreachable, "away");
  });
  InitialSyncOptions options = quick(target.path());
  options.unreachable_ms = options.reread_ms = 600'000;
  InitialSync sync(base::system_clock(), options, asked);
  std::thread later([&] {
    base::testing::wait_until([&] { return tried.load(); });
    sync.interrupt();
  });
  CHECK(why_failed(sync) == "initial sync was interrupted");
  later.join();
}

TEST_CASE("a backup nobody reads from ends; the same member's next one replaces its last") {
  struct Still : base::Clock {
    int64_t us = 0;
    int64_t wall_ms() const override { return us / 1000; }
    int64_t monotonic_us() const override { return us; }
  } clock;
  storage::TemporaryDirectory directory;
  storage::Store store(storage::test_options(directory.path()));
  BackupHost host(store, clock);
  const int64_t first = host.begin("a:1").id;
  CHECK_THROWS_AS(host.begin("b:1"), OperationError);
  const int64_t second = host.begin("a:1").id;
  CHECK_THROWS_AS(host.use(first), OperationError);
  clock.us += BackupHost::idle_ms_max * 1000 - 1;
  host.expire();
  CHECK(host.use(second)->total_bytes() > 0);
  clock.us += BackupHost::idle_ms_max * 1000 - 1;
  host.expire();
  CHECK(host.use(second));
  clock.us += BackupHost::idle_ms_max * 1000;
  host.expire();
  CHECK_THROWS_AS(host.use(second), OperationError);
  CHECK(host.begin("b:1").id != second);
}

TEST_CASE("only a member of a set that has data lends it") {
  storage::TemporaryDirectory directory;
  {
    Assembly starting(set_options(directory.path()));
    const bson::Document reply = starting.run("admin", json("{_initialSyncBegin: 1, for: 'a:1'}"));
    CHECK(reply["code"].to_int64() == 13436);
  }
  Options alone = set_options(directory.path());
  alone.repl_set.clear();
  Assembly standalone(alone);
  CHECK(standalone.run("admin", json("{_initialSyncBegin: 1, for: 'a:1'}"))["code"].to_int64() == 76);
  Source source(10);
  CHECK(source.server.run("shop", json("{_initialSyncBegin: 1, for: 'a:1'}"))["code"].to_int64() == 13);
  const int64_t id = source.call(json("{_initialSyncBegin: 1, for: 'a:1'}"))["backupId"].to_int64();
  const auto read = [&](const std::string& rest) {
    return source.server.run("admin",
                             json("{_initialSyncRead: 1, backupId: NumberLong('" + std::to_string(id) + "')" + rest + "}"));
  };
  CHECK(read(", file: 'WiredTiger', offset: 0, bytes: 10")["ok"].to_double() == 1);
  CHECK(read(", file: 'WiredTiger', offset: 0, bytes: 9000000")["code"].to_int64() == 2);
  CHECK(read(", file: 'WiredTiger', offset: 0, bytes: 0")["code"].to_int64() == 2);
  CHECK(read(", file: 'WiredTiger', offset: 99999, bytes: 1")["code"].to_int64() == 2);
  CHECK(read(", file: '../x', offset: 0, bytes: 1")["code"].to_int64() == 4);
  CHECK(read("")["code"].to_int64() == 40414);
  CHECK(read(", file: 'WiredTiger', offset: 0, bytes: 10, have: BinData(0, 'AAAA')")["code"].to_int64() == 2);
  CHECK(read(", file: 'WiredTiger', offset: 0, bytes: 10, have: 'AAAA'")["code"].to_int64() == 14);
}
