#include "server/peers/peer_client.h"

#include <catch2/catch.hpp>

#include <functional>
#include <thread>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "server/core/operation.h"
#include "server/wire/crc32c.h"
#include "server/wire/test_server.h"

namespace server::peers {
using base::testing::error_of;

namespace {

using base::Bytes;
using base::BytesView;
using base::ErrorCode;
using wire::test_options;
using wire::TestServer;

std::string local(int port) {
  return "127.0.0.1:" + std::to_string(port);
}

std::string local(const TestServer& server) {
  return local(server.listener.port());
}

class Answer : public Command {
 public:
  std::string_view name() const override { return "answer"; }
  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    op.sleep(std::chrono::milliseconds(request.body.find("after").to_int64()));
    reply.append("db", request.db).append("text", std::string(static_cast<size_t>(request.body.find("bytes").to_int64()), 'x'));
  }
};

// A server that accepts a connection, takes a whole request, and then does what the test says.
class Stranger {
 public:
  explicit Stranger(std::function<void(int socket, const Bytes& request)> act) : act_(std::move(act)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listener_, 16) == 0);
    REQUIRE(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Stranger() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  int port = 0;

 private:
  void serve() {
    for (;;) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      Bytes request(4, '\0');
      if (::recv(socket, request.data(), 4, MSG_WAITALL) == 4) {
        request.resize(static_cast<size_t>(base::load_le<int32_t>(request.data())));
        if (::recv(socket, request.data() + 4, request.size() - 4, MSG_WAITALL) > 0) act_(socket, request);
      }
      ::close(socket);
    }
  }
  std::function<void(int, const Bytes&)> act_;
  int listener_ = -1;
  std::thread thread_;
};

void write_to(int socket, BytesView bytes) {
  [[maybe_unused]] const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

// Returns a valid reply to `request`.
Bytes reply_to(const Bytes& request, uint32_t flags = wire::checksum_present) {
  Bytes bytes = wire::encode_msg(77, 0, bson::json("{ok: 1, n: 42}"));
  base::store_le(bytes.data() + 8, base::load_le<int32_t>(request.data() + 4));
  base::store_le(bytes.data() + 16, flags);
  if (flags & wire::checksum_present) {
    base::store_le(bytes.data(), static_cast<int32_t>(bytes.size() + 4));
    base::append_le(bytes, wire::crc32c(bytes));
  }
  return bytes;
}

const bson::Document ping = bson::json("{ping: 1}");

}  // namespace

TEST_CASE("a member's commands are answered, one after the other, on one connection") {
  TestServer server(test_options(), std::make_unique<Answer>());
  PeerClient peer(local(server));
  for (int i = 0; i < 20; ++i) CHECK(peer.run("admin", ping).find("ok").to_double() == 1);
  for (const int bytes : {0, 1, 5000, 3'000'000}) {
    const auto reply = peer.run("shop", bson::json("{answer: 1, bytes: " + std::to_string(bytes) + "}"));
    CHECK(reply.find("db").as_string() == "shop");
    CHECK(reply.find("text").as_string().size() == static_cast<size_t>(bytes));
  }
  CHECK(server.assembly.run("admin", bson::json("{serverStatus: 1}"))
            .find("connections")
            .as_document()
            .find("totalCreated")
            .to_int64() == 1);
}

TEST_CASE("a member is reached under its name") {
  TestServer server;
  CHECK(PeerClient("localhost:" + std::to_string(server.listener.port())).run("admin", ping).has("ok"));
}

TEST_CASE("a server's refusal comes with its code and message") {
  TestServer server;
  PeerClient peer(local(server));
  std::string message;
  CHECK(error_of([&] { peer.run("admin", bson::json("{noSuchThing: 1}")); }, &message) == ErrorCode::command_not_found);
  CHECK(message == "no such command: 'noSuchThing'");
  CHECK(peer.connected());
  CHECK(peer.run_raw("admin", bson::json("{noSuchThing: 1}")).find("code").to_int64() == 59);
}

TEST_CASE("a text that is no address is refused at once") {
  for (const char* text : {"", "host", "host:0", "host:x"}) {
    CHECK(error_of([&] { PeerClient peer(text); }) == ErrorCode::failed_to_parse);
  }
}

TEST_CASE("a member that doesn't answer is unreachable, and the error says why") {
  int port = 0;
  {
    port = Stranger([](int, const Bytes&) {}).port;
  }
  std::string message;
  CHECK(error_of([&] { PeerClient(local(port)).run("admin", ping); }, &message) == ErrorCode::host_unreachable);
  CHECK(message == "Error connecting to " + local(port) + " (" + local(port) + ") :: caused by :: Connection refused");
  CHECK(error_of([&] { PeerClient("no-such-host.invalid:1").run("admin", ping); }, &message) == ErrorCode::host_unreachable);
  CHECK_THAT(message, Catch::StartsWith("Error connecting to no-such-host.invalid:1 :: caused by :: Could not find address"));
}

TEST_CASE("a member that went away and came back is reached again") {
  auto server = std::make_unique<TestServer>();
  Options same = test_options();
  same.port = server->listener.port();
  PeerClient peer(local(*server));
  CHECK(peer.run("admin", ping).has("ok"));
  server.reset();
  CHECK(error_of([&] { peer.run("admin", ping); }) == ErrorCode::host_unreachable);
  server = std::make_unique<TestServer>(same);
  CHECK(peer.run("admin", ping).has("ok"));
  server.reset();
  server = std::make_unique<TestServer>(same);  // the connection broke unnoticed
  CHECK(peer.run("admin", ping).has("ok"));
}

TEST_CASE("a member that hangs costs the time it was given") {
  TestServer server(test_options(), std::make_unique<Answer>());
  PeerClient peer(local(server), {.call_ms = 150});
  CHECK(error_of([&] { peer.run("admin", bson::json("{answer: 1, after: 600000}")); }) == ErrorCode::network_timeout);
  CHECK(peer.run("admin", bson::json("{answer: 1, after: 400}"), 120'000).has("ok"));
}

TEST_CASE("bytes that trickle don't stretch the time of a call") {
  Stranger slow([](int socket, const Bytes& request) {
    for (const char c : reply_to(request)) {
      write_to(socket, {&c, 1});
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  CHECK(error_of([&] { PeerClient(local(slow.port), {.call_ms = 200}).run("admin", ping); }) == ErrorCode::network_timeout);
}

TEST_CASE("a call is ended from another thread, and none follows") {
  TestServer server(test_options(), std::make_unique<Answer>());
  PeerClient peer(local(server));
  std::thread other([&] {
    base::testing::wait_until([&] { return server.assembly.services().operations.size() > 0; });
    peer.interrupt();
  });
  CHECK(error_of([&] { peer.run("admin", bson::json("{answer: 1, after: 600000}")); }) == ErrorCode::shutdown_in_progress);
  other.join();
  CHECK(error_of([&] { peer.run("admin", ping); }) == ErrorCode::shutdown_in_progress);
}

TEST_CASE("a reply is believed only as a whole") {
  Stranger right([](int socket, const Bytes& request) { write_to(socket, reply_to(request)); });
  CHECK(PeerClient(local(right.port)).run("admin", ping).find("n").to_int64() == 42);

  // Each byte of the reply counts: the length, the ids, flags, section, document and checksum.
  const size_t size = reply_to(Bytes(wire::header_bytes, '\0')).size();
  size_t at = 0;
  Stranger damaging([&](int socket, const Bytes& request) {
    Bytes reply = reply_to(request);
    reply[at] = static_cast<char>(reply[at] ^ 0x21);
    write_to(socket, reply);
  });
  PeerClient peer(local(damaging.port), {.call_ms = 300});
  for (at = 0; at < size; ++at) {
    INFO("byte " << at);
    const ErrorCode code = error_of([&] { peer.run("admin", ping); });
    CHECK((code == ErrorCode::protocol_error || code == ErrorCode::host_unreachable || code == ErrorCode::network_timeout));
    CHECK_FALSE(peer.connected());
  }
}

TEST_CASE("bytes that are no reply to this command are a protocol error") {
  const auto refused = [](std::function<Bytes(const Bytes&)> make) {
    Stranger stranger([&](int socket, const Bytes& request) { write_to(socket, make(request)); });
    return error_of([&] { PeerClient(local(stranger.port), {.reply_bytes_max = 1000}).run("admin", ping); });
  };
  CHECK(refused([](const Bytes& request) { return reply_to(request, 0); }) == ErrorCode::protocol_error);
  CHECK(refused([](const Bytes& request) { return reply_to(request, wire::checksum_present | wire::more_to_come); }) ==
        ErrorCode::protocol_error);
  CHECK(refused([](const Bytes&) { return reply_to(Bytes(wire::header_bytes, '\1')); }) == ErrorCode::protocol_error);
  CHECK(refused([](const Bytes&) { return Bytes("HTTP/1.1 400 Bad Request\r\n\r\n"); }) == ErrorCode::protocol_error);
  CHECK(refused([](const Bytes& request) { return request; }) == ErrorCode::protocol_error);
  // A reply larger than allowed fails before a byte of it is waited for.
  CHECK(refused([](const Bytes& request) {
          Bytes header(wire::header_bytes, '\0');
          wire::store_header(header.data(), {1001, 1, base::load_le<int32_t>(request.data() + 4), wire::OpCode::msg});
          return header;
        }) == ErrorCode::protocol_error);
  CHECK(refused([](const Bytes& request) { return reply_to(request).substr(0, 30); }) == ErrorCode::host_unreachable);
  base::Random random(11);
  for (int i = 0; i < 50; ++i) {
    CHECK(refused([&](const Bytes&) {
            Bytes noise;
            for (uint64_t n = random.below(200); n > 0; --n) noise.push_back(static_cast<char>(random.below(256)));
            return noise;
          }) != ErrorCode::ok);
  }
}

}  // namespace server::peers
