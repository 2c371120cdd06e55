#include "server/wire/listener.h"

#include <mongoc/mongoc.h>
#include <sys/un.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "server/core/fail_points.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/topology.h"
#include "server/wire/compression.h"
#include "server/wire/crc32c.h"
#include "server/wire/test_server.h"

namespace server::wire {
namespace {

using base::testing::wait_until;

const bson::Document ping = bson::json("{ping: 1, $db: 'admin'}");

bool answers(int port) {
  return RawClient(port).run(ping).find("ok").to_double() == 1;
}

// A command that waits as long as its argument says, or until it is interrupted.
class Wait : public Command {
 public:
  std::string_view name() const override { return "wait"; }
  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    op.sleep(std::chrono::milliseconds(request.body.find("wait").to_int64()));
    reply.append("waited", true);
  }
};

// A command that streams 1,000 small replies, and calls `first` before the first one.
class Stream : public Command {
 public:
  static constexpr int replies_max = 1000;
  explicit Stream(std::function<void()> first) : first_(std::move(first)) {}
  std::string_view name() const override { return "stream"; }
  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    if (replies_++ == 0) first_();
    if (replies_ < replies_max) op.next_invocation = bson::Document(request.body);
  }
  int replies() const { return replies_; }

 private:
  const std::function<void()> first_;
  std::atomic<int> replies_{0};
};

// A command that says how many replies the stream has had.
class Count : public Command {
 public:
  explicit Count(const Stream& stream) : stream_(stream) {}
  std::string_view name() const override { return "countReplies"; }
  void run(OperationContext&, const Request&, bson::Builder& reply) override { reply.append("replies", stream_.replies()); }

 private:
  const Stream& stream_;
};

Options with(void (*change)(Options&)) {
  Options options = test_options();
  change(options);
  return options;
}

struct Mongoc {
  Mongoc() { mongoc_init(); }
};

// Runs `command` through libmongoc; returns the reply as relaxed JSON, or the error.
std::string run_with_driver(const std::string& uri, const char* command) {
  static Mongoc once;
  mongoc_client_t* client = mongoc_client_new(uri.c_str());
  bson_error_t error;
  bson_t* query = bson_new_from_json(reinterpret_cast<const uint8_t*>(command), -1, &error);
  bson_t reply;
  const bool ok = mongoc_client_command_simple(client, "admin", query, nullptr, &reply, &error);
  char* json = bson_as_relaxed_extended_json(&reply, nullptr);
  std::string text = ok ? json : std::string(error.message);
  bson_free(json);
  bson_destroy(&reply);
  bson_destroy(query);
  mongoc_client_destroy(client);
  return text;
}

}  // namespace

TEST_CASE("a driver shakes hands, pings and asks who is there") {
  TestServer server;
  CHECK(run_with_driver(server.uri(), R"({"ping": 1})") == R"({ "ok" : 1.0 })");
  CHECK(run_with_driver(server.uri(), R"({"buildInfo": 1})").find(R"("version" : "7.0.14")") != std::string::npos);
  const std::string hello = run_with_driver(server.uri("appname=test"), R"({"hello": 1})");
  CHECK(hello.find(R"("maxWireVersion" : 21)") != std::string::npos);
  CHECK(hello.find(R"("isWritablePrimary" : true)") != std::string::npos);
  CHECK(run_with_driver(server.uri(), R"({"atlasVersion": 1})") == "no such command: 'atlasVersion'");
}

TEST_CASE("a driver may compress in any of three ways") {
  TestServer server;
  for (const char* compressor : {"snappy", "zlib", "zstd"}) {
    const auto uri = server.uri(std::string("compressors=") + compressor);
    CHECK(run_with_driver(uri, R"({"hello": 1})").find("\"compression\" : [ \"" + std::string(compressor) + "\" ]") !=
          std::string::npos);
    CHECK(run_with_driver(uri, R"({"buildInfo": 1})").find("7.0.14") != std::string::npos);
  }
  const auto& network = server.assembly.services().metrics.network;
  CHECK(network.snappy.wire_in.get() > 0);
  CHECK(network.zlib.wire_in.get() > 0);
  CHECK(network.zstd.wire_in.get() > 0);
}

TEST_CASE("a compressor that was switched off is neither offered nor taken") {
  TestServer server(with([](Options& o) { o.compressors = {"zstd"}; }));
  RawClient client(server.listener.port());
  const auto hello = client.run(bson::json("{hello: 1, compression: ['snappy', 'zstd'], $db: 'admin'}"));
  CHECK(bson::to_json(hello.find("compression")) == R"(["zstd"])");
  client.send(pack(encode_msg(1, 0, ping), Compressor::snappy));
  CHECK(client.receive().empty());
}

TEST_CASE("messages arrive whole however they are cut") {
  TestServer server;
  RawClient client(server.listener.port());
  base::Random random(7);
  for (int round = 0; round < 20; ++round) {
    Bytes stream;
    const int messages = 1 + static_cast<int>(random.below(5));
    for (int i = 0; i < messages; ++i) {
      bson::Builder body;
      body.append("ping", 1).append("comment", std::string(random.below(3000), 'c')).append("$db", "admin");
      stream += encode_msg(i, 0, body.done());
    }
    for (size_t at = 0; at < stream.size();) {
      const size_t piece = std::min<size_t>(stream.size() - at, 1 + random.below(700));
      REQUIRE(client.send(BytesView(stream).substr(at, piece)));
      at += piece;
      if (random.below(8) == 0) std::this_thread::yield();
    }
    for (int i = 0; i < messages; ++i) REQUIRE(client.reply().find("ok").to_double() == 1);
  }
}

TEST_CASE("a request with a checksum is answered with one") {
  TestServer server;
  RawClient client(server.listener.port());
  client.send(encode_msg(5, checksum_present, ping));
  const Bytes reply = client.receive();
  REQUIRE(reply.size() > 30);
  CHECK((base::load_le<uint32_t>(reply.data() + 16) & checksum_present) != 0);
  CHECK(base::load_le<uint32_t>(reply.data() + reply.size() - 4) == crc32c(BytesView(reply).substr(0, reply.size() - 4)));
  CHECK(decode_header(reply).or_throw().response_to == 5);
}

TEST_CASE("with moreToCome there is no reply, and the next message is served") {
  TestServer server;
  RawClient client(server.listener.port());
  client.send(encode_msg(1, more_to_come, bson::json("{nonsense: 1, $db: 'admin'}")));
  client.send(encode_msg(2, 0, ping));
  CHECK(decode_header(client.receive()).or_throw().response_to == 2);
}

TEST_CASE("garbage closes its own connection and no other") {
  TestServer server;
  RawClient bystander(server.listener.port());
  base::Random random(3);
  for (int i = 0; i < 60; ++i) {
    RawClient client(server.listener.port());
    Bytes noise;
    for (uint64_t n = 16 + random.below(300); n > 0; --n) noise.push_back(static_cast<char>(random()));
    if (i % 3 == 1) store_header(noise.data(), {static_cast<int32_t>(noise.size()), 1, 0, OpCode::msg});
    if (i % 3 == 2) store_header(noise.data(), {static_cast<int32_t>(noise.size()), 1, 0, OpCode::compressed});
    client.send(noise);
  }
  CHECK(bystander.run(ping).find("ok").to_double() == 1);
  CHECK(answers(server.listener.port()));
}

TEST_CASE("bad BSON in a good frame gets an error, and the connection stays") {
  TestServer server;
  RawClient client(server.listener.port());
  Bytes bytes = encode_msg(1, 0, ping);
  bytes[25] = 0x55;  // the type of the first field
  client.send(bytes);
  const auto reply = client.reply();
  CHECK(reply.find("ok").to_double() == 0);
  CHECK(reply.find("codeName").as_string() == "InvalidBSON");
  CHECK(client.run(ping).find("ok").to_double() == 1);
}

TEST_CASE("an old handshake in OP_QUERY is answered with OP_REPLY") {
  TestServer server;
  RawClient client(server.listener.port());
  Bytes bytes(header_bytes, '\0');
  base::append_le<int32_t>(bytes, 0);
  bytes.append("admin.$cmd").push_back('\0');
  base::append_le<int32_t>(bytes, 0);
  base::append_le<int32_t>(bytes, -1);
  bytes.append(bson::json("{ismaster: 1, helloOk: true}").bytes());
  store_header(bytes.data(), {static_cast<int32_t>(bytes.size()), 3, 0, OpCode::query});
  client.send(bytes);
  const Bytes reply = client.receive();
  CHECK(decode_header(reply).or_throw().opcode == OpCode::reply);
  const bson::Document document(reply.substr(36));
  CHECK(document.find("ismaster").truthy());
  CHECK(document.find("helloOk").truthy());
}

TEST_CASE("an awaited hello waits, streams, and hears of changes at once") {
  TestServer server;
  Topology& topology = server.assembly.services().topology;
  RawClient client(server.listener.port());
  bson::Builder body;
  body.append("hello", 1);
  {
    auto version = body.object("topologyVersion");
    version.append("processId", topology.process_id()).append("counter", topology.counter());
  }
  body.append("maxAwaitTimeMS", 60'000).append("$db", "admin");
  client.send(encode_msg(11, exhaust_allowed, body.done()));
  REQUIRE(wait_until([&] { return topology.waiting() > 0; }));

  int32_t answers_to = 11;
  for (int64_t counter = 1; counter <= 3; ++counter) {
    topology.changed();
    const Bytes reply = client.receive();
    REQUIRE_FALSE(reply.empty());
    const Header header = decode_header(reply).or_throw();
    CHECK(header.response_to == answers_to);
    answers_to = header.request_id;
    CHECK((base::load_le<uint32_t>(reply.data() + 16) & more_to_come) != 0);
    const bson::Document document(reply.substr(21));
    CHECK(document.find("topologyVersion").as_document().find("counter").as_int64() == counter);
    REQUIRE(wait_until([&] { return topology.waiting() > 0; }));
  }
}

TEST_CASE("an awaited hello ends when its client leaves") {
  TestServer server;
  const Topology& topology = server.assembly.services().topology;
  RawClient client(server.listener.port());
  bson::Builder body;
  body.append("hello", 1);
  {
    auto version = body.object("topologyVersion");
    version.append("processId", topology.process_id()).append("counter", topology.counter());
  }
  body.append("maxAwaitTimeMS", 3'600'000).append("$db", "admin");
  client.send(encode_msg(1, exhaust_allowed, body.done()));
  REQUIRE(wait_until([&] { return topology.waiting() > 0; }));
  client.close();
  CHECK(wait_until([&] { return topology.waiting() == 0; }));
  const auto& connections = server.assembly.services().metrics.connections;
  CHECK(wait_until([&] { return connections.current.get() == 0; }));
}

TEST_CASE("a stream of small replies takes turns with the other connections of its reactor") {
  TestServer server(with([](Options& options) { options.io_threads = 1; }));
  RawClient streaming(server.listener.port()), other(server.listener.port());
  CHECK(other.run(ping).find("ok").to_double() == 1);
  auto stream = std::make_unique<Stream>([&] { other.send(encode_msg(1, 0, bson::json("{countReplies: 1, $db: 'admin'}"))); });
  auto count = std::make_unique<Count>(*stream);
  server.assembly.services().commands.add(std::move(stream));
  server.assembly.services().commands.add(std::move(count));
  streaming.send(encode_msg(1, exhaust_allowed, bson::json("{stream: 1, $db: 'admin'}")));
  CHECK(other.reply().find("replies").to_int64() < Stream::replies_max);
  for (int i = 0; i < Stream::replies_max; ++i) REQUIRE(!streaming.receive().empty());
}

TEST_CASE("a hello that knows nothing is answered without waiting") {
  TestServer server;
  RawClient client(server.listener.port());
  const auto reply =
      client.run(bson::json("{hello: 1, topologyVersion: {processId: {$oid: '000000000000000000000001'}, counter: {$numberLong: "
                            "'5'}}, maxAwaitTimeMS: 60000, $db: 'admin'}"));
  CHECK(reply.find("ok").to_double() == 1);
  CHECK(client.run(bson::json("{hello: 1, maxAwaitTimeMS: 5, $db: 'admin'}")).find("code").as_int32() == 31368);
}

TEST_CASE("a thousand connections are served") {
  TestServer server;
  std::vector<RawClient> clients;
  for (int i = 0; i < 1000; ++i) clients.emplace_back(server.listener.port());
  for (auto& client : clients) REQUIRE(client.send(encode_msg(1, 0, ping)));
  for (auto& client : clients) REQUIRE(client.reply().find("ok").to_double() == 1);
  CHECK(server.assembly.services().metrics.connections.current.get() == 1000);
}

TEST_CASE("connections beyond the limit are turned away, and there is room again later") {
  TestServer server(with([](Options& o) { o.max_conns = 3; }));
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(server.listener.port());
    REQUIRE(clients.back().run(ping).find("ok").to_double() == 1);
  }
  RawClient extra(server.listener.port());
  extra.send(encode_msg(1, 0, ping));
  CHECK(extra.receive().empty());
  clients.clear();
  REQUIRE(wait_until([&] { return server.assembly.services().metrics.connections.current.get() == 0; }));
  CHECK(answers(server.listener.port()));
}

TEST_CASE("slow commands and clients that don't read hold up nobody") {
  TestServer server(test_options(), std::make_unique<Wait>());
  const int port = server.listener.port();
  std::vector<RawClient> slow;
  for (int i = 0; i < 20; ++i) {
    slow.emplace_back(port);
    slow.back().send(encode_msg(1, 0, bson::json("{wait: 60000, $db: 'admin'}")));
  }
  RawClient deaf(port);
  const Bytes many = encode_msg(1, 0, bson::json("{listCommands: 1, $db: 'admin'}"));
  std::thread flood([&] {
    for (int i = 0; i < 3000 && deaf.send(many); ++i) {
    }
  });
  for (int i = 0; i < 50; ++i) CHECK(answers(port));
  RawClient quick(port);
  CHECK(quick.run(bson::json("{wait: 1, $db: 'admin'}")).find("waited").truthy());
  server.listener.stop();
  flood.join();
}

TEST_CASE("a ping is answered while every thread is blocked") {
  TestServer server(test_options(), std::make_unique<Wait>());
  const int port = server.listener.port();
  std::vector<RawClient> slow;
  for (int i = 0; i < 64; ++i) {
    slow.emplace_back(port);
    slow.back().send(encode_msg(1, 0, bson::json("{wait: 60000, $db: 'admin'}")));
  }
  const OperationRegistry& operations = server.assembly.services().operations;
  REQUIRE(wait_until([&] { return operations.size() >= 64; }));
  RawClient quick(port);
  for (int i = 0; i < 50; ++i) CHECK(quick.run(ping).find("ok").to_double() == 1);
  CHECK(operations.size() >= 64);
}

TEST_CASE("more blocked commands than there are threads leave room for finding and killing them") {
  TestServer server(test_options(), std::make_unique<Wait>());
  const int port = server.listener.port();
  std::vector<RawClient> slow;
  for (int i = 0; i < 1050; ++i) {
    slow.emplace_back(port);
    slow.back().send(encode_msg(1, 0, bson::json("{wait: 600000, $db: 'admin'}")));
  }
  const OperationRegistry& operations = server.assembly.services().operations;
  REQUIRE(wait_until([&] { return operations.size() >= 900; }));
  // The server has read all of them: each runs, or waits for a place.
  REQUIRE(wait_until([&] { return server.assembly.services().metrics.connections.active.get() >= 1050; }));
  CHECK(operations.size() < 1000);
  RawClient quick(port);
  CHECK(quick.run(ping).find("ok").to_double() == 1);
  CHECK(quick.run(bson::json("{hello: 1, $db: 'admin'}")).find("ok").to_double() == 1);
  CHECK(quick.run(bson::json("{serverStatus: 1, $db: 'admin'}")).find("ok").to_double() == 1);
  RawClient ordinary(port);
  ordinary.send(encode_msg(1, 0, bson::json("{wait: 0, $db: 'admin'}")));
  // The commands that waited run as soon as some of these are killed.
  std::vector<int32_t> ids;
  operations.visit([&](const OperationContext& op) {
    if (op.request().command == "wait") ids.push_back(op.id());
  });
  while (!ids.empty()) {
    bson::Builder kill;
    kill.append("killOp", 1).append("op", ids.back()).append("$db", "admin");
    CHECK(quick.run(kill.done()).find("ok").to_double() == 1);
    ids.pop_back();
  }
  CHECK(ordinary.reply().find("ok").to_double() == 1);
}

TEST_CASE("commits that are blocked leave room for finding and killing them") {
  TestServer server(test_options(), std::make_unique<Wait>());
  server.assembly.services().fail_points.enabled = true;
  const int port = server.listener.port();
  RawClient quick(port);
  REQUIRE(quick
              .run(bson::json("{configureFailPoint: 'failCommand', mode: 'alwaysOn', data: {failCommands: ['commitTransaction'], "
                              "blockConnection: true, blockTimeMS: 600000}, $db: 'admin'}"))
              .find("ok")
              .to_double() == 1);
  std::vector<RawClient> slow;
  for (int i = 0; i < 1100; ++i) {
    slow.emplace_back(port);
    slow.back().send(
        encode_msg(1, 0, bson::json(i < 1000 ? "{wait: 600000, $db: 'admin'}" : "{commitTransaction: 1, $db: 'admin'}")));
  }
  Services& services = server.assembly.services();
  REQUIRE(wait_until([&] { return services.metrics.connections.active.get() >= 1100; }));
  REQUIRE(wait_until([&] { return services.operations.size() >= 900; }));
  std::vector<int32_t> commits;
  const auto find = [&] {
    commits.clear();
    services.operations.visit([&](const OperationContext& op) {
      if (op.request().command == "commitTransaction") commits.push_back(op.id());
    });
    return !commits.empty();
  };
  REQUIRE(wait_until(find));
  CHECK(quick.run(ping).find("ok").to_double() == 1);
  const auto running = quick.run(bson::json("{currentOp: 1, $db: 'admin'}"));
  int shown = 0;
  for ([[maybe_unused]] const auto& one : running.find("inprog").as_document()) ++shown;
  CHECK(shown > 900);
  // When a running command is killed, the first command in line gets its thread.
  const int32_t newest = *std::max_element(commits.begin(), commits.end());
  bson::Builder kill;
  kill.append("killOp", 1).append("op", commits.front()).append("$db", "admin");
  CHECK(quick.run(kill.done()).find("ok").to_double() == 1);
  CHECK(wait_until([&] { return find() && *std::max_element(commits.begin(), commits.end()) > newest; }));
}

TEST_CASE("a client of another protocol is refused at once, before the rest is waited for") {
  TestServer server;
  const int port = server.listener.port();
  const auto all_of = [](RawClient& client) {
    std::string text;
    for (;;) {
      const Bytes more = client.take(1);
      if (more.empty()) return text;
      text += more;
    }
  };
  {
    RawClient browser(port);
    browser.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::string answer = all_of(browser);
    CHECK(answer.starts_with("HTTP/1.0 200 OK\r\n"));
    CHECK(answer.find("It looks like you are trying to access MongoDB over HTTP on the native driver port.\r\n") !=
          std::string::npos);
  }
  // The first bytes of a TLS hello, whose first four read as a length of 33 MB.
  {
    RawClient tls(port);
    tls.send(Bytes("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x7a\x11\x5c\x42\x99", 16));
    CHECK(all_of(tls).empty());
  }
  // Impossible opcodes, with a body that doesn't come.
  for (const int32_t opcode : {0, 1, 2001, 2002, 2005, 2006, 2007, 2010, 2014, -1}) {
    RawClient client(port);
    char header[header_bytes];
    store_header(header, {1'000'000, 1, 0, static_cast<OpCode>(opcode)});
    client.send({header, sizeof header});
    CHECK(all_of(client).empty());
  }
  CHECK(answers(port));
}

TEST_CASE("many messages sent at once are answered in their order") {
  TestServer server;
  RawClient client(server.listener.port());
  Bytes all;
  constexpr int count = 2'000;
  for (int i = 1; i <= count; ++i) all += encode_msg(i, 0, ping);
  std::thread sender([&] { client.send(all); });
  for (int i = 1; i <= count; ++i) REQUIRE(decode_header(client.receive()).or_throw().response_to == i);
  sender.join();
}

TEST_CASE("an operation can be killed, and runs into its time limit") {
  TestServer server(test_options(), std::make_unique<Wait>());
  RawClient client(server.listener.port());
  auto reply = client.run(bson::json("{wait: 60000, maxTimeMS: 20, $db: 'admin'}"));
  CHECK(reply.find("codeName").as_string() == "MaxTimeMSExpired");

  client.send(encode_msg(1, 0, bson::json("{wait: 60000, $db: 'admin'}")));
  OperationRegistry& operations = server.assembly.services().operations;
  int32_t id = 0;
  while (id == 0) {
    operations.visit([&](const OperationContext& op) {
      if (op.request().command == "wait") id = op.id();
    });
  }
  RawClient killer(server.listener.port());
  bson::Builder kill;
  kill.append("killOp", 1).append("op", id).append("$db", "admin");
  CHECK(killer.run(kill.done()).find("info").as_string() == "attempting to kill op");
  CHECK(client.reply().find("code").as_int32() == 11601);
}

TEST_CASE("an operation whose client hung up is killed") {
  TestServer server(test_options(), std::make_unique<Wait>());
  RawClient client(server.listener.port());
  client.run(bson::json("{wait: 1, $db: 'admin'}"));
  client.send(encode_msg(1, 0, bson::json("{wait: 60000, $db: 'admin'}")));
  const OperationRegistry& operations = server.assembly.services().operations;
  while (operations.size() == 0) std::this_thread::yield();
  client.close();
  REQUIRE(wait_until([&] { return operations.size() == 0; }));
  CHECK(answers(server.listener.port()));
}

TEST_CASE("stopping interrupts what runs and closes every connection") {
  auto server = std::make_unique<TestServer>(test_options(), std::make_unique<Wait>());
  RawClient idle(server->listener.port());
  RawClient busy(server->listener.port());
  idle.run(ping);
  busy.send(encode_msg(1, 0, bson::json("{wait: 60000, $db: 'admin'}")));
  while (server->assembly.services().operations.size() == 0) std::this_thread::yield();
  server->listener.stop();
  CHECK(idle.receive().empty());
  // An interrupted command's client gets the error.
  CHECK(busy.reply().find("code").as_int32() == 11600);
  CHECK(busy.receive().empty());
  CHECK(server->assembly.services().metrics.connections.current.get() == 0);
  server.reset();
}

TEST_CASE("clients may come through a UNIX domain socket") {
  Options options = test_options();
  options.unix_socket = true;
  options.unix_socket_prefix = ::getenv("TMPDIR") ? ::getenv("TMPDIR") : "/tmp";
  std::string path;
  {
    TestServer server(options);
    path = server.listener.unix_socket_path();
    CHECK(path == options.unix_socket_prefix + "/mongodb-" + std::to_string(server.listener.port()) + ".sock");
    std::string escaped;
    for (char c : path) escaped += c == '/' ? "%2F" : std::string(1, c);
    CHECK(run_with_driver("mongodb://" + escaped, R"({"whatsmyuri": 1})").find("anonymous unix socket") != std::string::npos);
  }
  CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("an address in use is an error that says so") {
  TestServer server;
  Options options = test_options();
  options.port = server.listener.port();
  Assembly other(options);
  Listener second(other.services(), other.dispatcher());
  // reuse_address lets a closed server's port be bound again, not an open one's.
  CHECK_THROWS_AS(second.start(), std::system_error);
}

}  // namespace server::wire
