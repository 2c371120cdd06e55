#include "replication/consensus/tcp_transport.h"

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#include <catch2/catch.hpp>

#include "base/random.h"
#include "replication/consensus/frame.h"
#include "replication/consensus/test_support.h"

using namespace replication::consensus;
using asio::ip::tcp;

namespace {

class Counting final : public MessageReceiver {
 public:
  void received(MemberId, BytesView message) override {
    std::lock_guard lock(mutex);
    messages.emplace_back(message);
  }
  void unreachable(MemberId) override { ++lost; }
  size_t count() {
    std::lock_guard lock(mutex);
    return messages.size();
  }
  std::mutex mutex;
  std::vector<Bytes> messages;
  std::atomic<int> lost{0};
};

}  // namespace

TEST_CASE("garbage on the members' port is turned away, and members go on") {
  Counting at_a, at_b;
  TcpTransport a({.set_name = "set", .self = 1}), b({.set_name = "set", .self = 2});
  a.set_receiver(&at_a);
  b.set_receiver(&at_b);
  a.set_peer(2, "127.0.0.1", b.port());
  base::Random random(7);
  for (int i = 0; i < 60; ++i) {
    asio::io_context context;
    tcp::socket stranger(context);
    stranger.connect({asio::ip::address_v4::loopback(), b.port()});
    Bytes bytes;
    const uint64_t kind = random.below(5);
    if (kind == 0) bytes = encode_frame(FrameKind::hello, encode_hello({"another set", 1, 2, 0}));
    if (kind == 1) bytes = encode_frame(FrameKind::hello, encode_hello({"set", 1, 9, 0}));
    if (kind == 2) bytes = encode_frame(FrameKind::messages, "no greeting");
    if (kind == 3)
      bytes = encode_frame(FrameKind::hello, encode_hello({"set", 1, 2, 0})) + "PRF1 and then nonsense, long enough for a header";
    for (uint64_t n = kind == 4 ? random.below(300) : 0; n > 0; --n) bytes.push_back(static_cast<char>(random.below(256)));
    asio::error_code ignored;
    asio::write(stranger, asio::buffer(bytes), ignored);
  }
  CHECK(at_b.count() == 0);
  CHECK(wait_until([&] {
    a.send({{2, false, "hello"}, {2, true, Bytes(100'000, 'y')}});
    return at_b.count() >= 2;
  }));
}

TEST_CASE("messages for a peer that isn't there are reported as lost, and arrive once it is there") {
  Counting at_a, at_b;
  TcpTransport a({.set_name = "set", .self = 1});
  a.set_receiver(&at_a);
  auto b = std::make_unique<TcpTransport>(TcpOptions{.set_name = "set", .self = 2});
  const uint16_t port = b->port();
  b.reset();
  a.set_peer(2, "127.0.0.1", port);
  a.send({{2, false, "lost"}});
  CHECK(wait_until([&] { return at_a.lost > 0; }));
  b = std::make_unique<TcpTransport>(TcpOptions{.set_name = "set", .self = 2, .host = "127.0.0.1", .port = port});
  b->set_receiver(&at_b);
  CHECK(wait_until([&] {
    a.send({{2, false, "again"}});
    return at_b.count() > 0;
  }));
  CHECK(a.lost() >= 1);
}

TEST_CASE("messages to a connection that the other side has closed are reported as lost") {
  Counting at_a, at_b;
  TcpTransport a({.set_name = "set", .self = 1});
  a.set_receiver(&at_a);
  auto b = std::make_unique<TcpTransport>(TcpOptions{.set_name = "set", .self = 2});
  const uint16_t port = b->port();
  b->set_receiver(&at_b);
  a.set_peer(2, "127.0.0.1", port);
  a.send({{2, true, "first"}});
  REQUIRE(wait_until([&] { return at_b.count() == 1; }));
  b.reset();
  b = std::make_unique<TcpTransport>(TcpOptions{.set_name = "set", .self = 2, .host = "127.0.0.1", .port = port});
  b->set_receiver(&at_b);
  a.send({{2, true, "lost"}});
  CHECK(wait_until([&] { return at_a.lost > 0; }));
  a.send({{2, true, "arrives"}});
  CHECK(wait_until([&] { return at_b.count() == 2; }));
  CHECK(wait_until([&] { return !a.under_way(2); }));
}

TEST_CASE("messages that a full queue refuses are reported as lost, and those that wait are under way") {
  Counting at_a;
  TcpTransport a({.set_name = "set", .self = 1, .queue_bytes_max = 1 << 20});
  a.set_receiver(&at_a);
  asio::io_context context;
  const tcp::acceptor nobody_reads(context, {asio::ip::address_v4::loopback(), 0});
  const uint16_t port = nobody_reads.local_endpoint().port();
  a.set_peer(2, "127.0.0.1", port);
  CHECK_FALSE(a.under_way(2));
  for (int i = 0; i < 64 && at_a.lost == 0; ++i) a.send({{2, true, Bytes(1 << 20, 'x')}});
  CHECK(at_a.lost > 0);
  CHECK(a.under_way(2));
  // The same address again is no reason to begin anew.
  a.set_peer(2, "127.0.0.1", port);
  CHECK(a.under_way(2));
  // A peer that is removed takes with it what waits.
  const int lost = at_a.lost;
  a.remove_peer(2);
  CHECK_FALSE(a.under_way(2));
  CHECK(at_a.lost == lost);
}

TEST_CASE("a peer is found by its name, and one whose name nobody knows is unreachable") {
  Counting at_a, at_b;
  TcpTransport a({.set_name = "set", .self = 1}), b({.set_name = "set", .self = 2});
  a.set_receiver(&at_a);
  b.set_receiver(&at_b);
  a.set_peer(2, "no-such-host.invalid", b.port());
  a.send({{2, true, "lost"}});
  CHECK(wait_until([&] { return at_a.lost > 0; }));
  CHECK(at_b.count() == 0);
  a.set_peer(2, "localhost", b.port());
  a.send({{2, true, "arrives"}});
  CHECK(wait_until([&] { return at_b.count() == 1; }));
}

TEST_CASE("messages of one lane arrive in order and whole, however large, beside those of the other lane") {
  const bool compress = GENERATE(false, true);
  Counting at_b;
  TcpTransport a({.set_name = "set", .self = 1, .compress = compress}), b({.set_name = "set", .self = 2});
  b.set_receiver(&at_b);
  a.set_peer(2, "127.0.0.1", b.port());
  std::vector<Bytes> bulk, control;
  for (size_t i = 0; i < 300; ++i) {
    bulk.push_back("bulk " + std::to_string(i) + Bytes(i % 7 == 0 ? 1'500'000 : i * 100, static_cast<char>('a' + i % 26)));
    control.push_back("control " + std::to_string(i));
    a.send({{2, true, bulk.back()}, {2, false, control.back()}});
    while (i % 7 == 0 && a.under_way(2)) std::this_thread::yield();
  }
  REQUIRE(wait_until([&] { return at_b.count() == 600; }));
  std::vector<Bytes> bulk_arrived, control_arrived;
  for (const Bytes& message : at_b.messages) (message[0] == 'b' ? bulk_arrived : control_arrived).push_back(message);
  CHECK(bulk_arrived == bulk);
  CHECK(control_arrived == control);
  CHECK(a.lost() == 0);
}

TEST_CASE("transports go while messages are on their way and connections are being opened") {
  for (int i = 0; i < 30; ++i) {
    Counting at_a, at_b;
    auto a = std::make_unique<TcpTransport>(TcpOptions{.set_name = "set", .self = 1});
    auto b = std::make_unique<TcpTransport>(TcpOptions{.set_name = "set", .self = 2});
    a->set_receiver(&at_a);
    b->set_receiver(&at_b);
    for (MemberId id = 2; id < 6; ++id) {
      a->set_peer(id, id % 2 == 0 ? "127.0.0.1" : "localhost", b->port());
      a->send({{id, true, Bytes(300'000, 'x')}, {id, false, "word"}});
    }
    b->set_peer(1, "127.0.0.1", a->port());
    b->send({{1, true, "back"}});
    if (i % 3 == 1) CHECK(wait_until([&] { return at_b.count() > 0; }));
    if (i % 3 == 2) a->remove_peer(2);
    (i % 2 == 0 ? a : b).reset();
  }
}
