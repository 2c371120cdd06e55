// Members' consensus connects to the clients' port.
#include <catch2/catch.hpp>
#include <mutex>
#include <thread>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "replication/consensus/frame.h"
#include "replication/consensus/tcp_transport.h"
#include "server/core/metrics.h"
#include "server/wire/test_server.h"

namespace server::wire {
namespace {

using namespace replication::consensus;

const bson::Document ping = bson::json("{ping: 1, $db: 'admin'}");

class Received final : public MessageReceiver {
 public:
  void received(MemberId from, BytesView message) override {
    std::lock_guard lock(mutex_);
    messages_.emplace_back(from, message);
  }
  void unreachable(MemberId) override {}
  std::vector<std::pair<MemberId, Bytes>> messages() const {
    std::lock_guard lock(mutex_);
    return messages_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<MemberId, Bytes>> messages_;
};

// A Member is a server that accepts members' connections too.
struct Member {
  explicit Member(MemberId id, Options options = test_options(), int connections_max = 256)
      : transport({.set_name = "set", .self = id, .listen = false, .connections_max = connections_max}),
        assembly(std::move(options)),
        listener(assembly.services(), assembly.dispatcher()) {
    transport.set_receiver(&inbox);
    assembly.services().peer_connection = [this](int descriptor, std::unique_ptr<base::tls::Stream> tls, Bytes already_read) {
      transport.adopt(descriptor, std::move(tls), std::move(already_read));
    };
    listener.start();
  }
  ~Member() { transport.set_receiver(nullptr); }
  uint16_t port() const { return static_cast<uint16_t>(listener.port()); }
  const Metrics::Connections& connections() { return assembly.services().metrics.connections; }
  bool answers() { return RawClient(port()).run(ping).find("ok").to_double() == 1; }

  Received inbox;
  TcpTransport transport;
  Assembly assembly;
  Listener listener;
};

using base::testing::wait_until;

Bytes hello(MemberId from, MemberId to) {
  return encode_frame(FrameKind::hello, encode_hello({"set", from, to, 0}));
}

Bytes messages(std::initializer_list<BytesView> each) {
  Bytes payload;
  for (BytesView one : each) append_message(payload, one);
  return encode_frame(FrameKind::messages, payload);
}

}  // namespace

TEST_CASE("two members exchange messages through the ports of their servers, beside clients") {
  Member one(1), two(2);
  one.transport.set_peer(2, "127.0.0.1", two.port());
  two.transport.set_peer(1, "127.0.0.1", one.port());
  RawClient client(one.port());
  const Bytes large(3'000'000, 'e');
  CHECK(wait_until([&] {
    one.transport.send({{2, false, "word"}, {2, true, large}});
    two.transport.send({{1, false, "answer"}});
    return two.inbox.messages().size() >= 2 && !one.inbox.messages().empty();
  }));
  CHECK(one.inbox.messages().front() == std::pair<MemberId, Bytes>(2, "answer"));
  for (const auto& [from, message] : two.inbox.messages()) {
    CHECK(from == 1);
    CHECK((message == "word" || message == large));
  }
  CHECK(client.run(ping).find("ok").to_double() == 1);
  CHECK(two.answers());
  // Members aren't counted as clients.
  CHECK(wait_until([&] { return one.connections().current.get() == 1 && two.connections().current.get() == 0; }));
  CHECK(one.connections().created.get() == 1);
}

TEST_CASE("a member's bytes arrive however they are cut") {
  Member member(2);
  base::Random random(5);
  for (int round = 0; round < 10; ++round) {
    const Bytes stream = hello(1, 2) + messages({"a", "b"}) + messages({Bytes(2000, 'c')});
    RawClient caller(member.port());
    for (size_t at = 0; at < stream.size();) {
      const size_t piece = std::min<size_t>(stream.size() - at, 1 + random.below(round < 5 ? 7 : 900));
      REQUIRE(caller.send(BytesView(stream).substr(at, piece)));
      at += piece;
      if (random.below(4) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const size_t wanted = static_cast<size_t>(round + 1) * 3;
    REQUIRE(wait_until([&] { return member.inbox.messages().size() >= wanted; }));
    const auto all = member.inbox.messages();
    CHECK(all.size() == wanted);
    CHECK(all[wanted - 1].second == Bytes(2000, 'c'));
    CHECK(all[wanted - 3].second == "a");
  }
}

TEST_CASE("garbage behind the members' magic ends its connection alone") {
  Member member(2);
  base::Random random(9);
  for (int i = 0; i < 60; ++i) {
    Bytes noise = "PRF1";
    for (uint64_t n = random.below(400); n > 0; --n) noise.push_back(static_cast<char>(random.below(256)));
    RawClient stranger(member.port());
    REQUIRE(stranger.send(noise));
    if (noise.size() >= frame_header_bytes) CHECK(stranger.receive().empty());
  }
  RawClient wrong_set(member.port());
  wrong_set.send(encode_frame(FrameKind::hello, encode_hello({"another", 1, 2, 0})));
  CHECK(wrong_set.receive().empty());
  CHECK(member.inbox.messages().empty());
  RawClient right(member.port());
  right.send(hello(1, 2) + messages({"well"}));
  CHECK(wait_until([&] { return member.inbox.messages().size() == 1; }));
  CHECK(member.answers());
}

TEST_CASE("half a header waits, and holds up nobody") {
  Member member(2);
  RawClient half(member.port()), quarter(member.port());
  half.send(hello(1, 2).substr(0, 11));
  quarter.send(hello(1, 2).substr(0, 2));
  CHECK(member.answers());
  half.send(hello(1, 2).substr(11) + messages({"late"}));
  CHECK(wait_until([&] { return member.inbox.messages().size() == 1; }));
  quarter.send(hello(1, 2).substr(2) + messages({"later"}));
  CHECK(wait_until([&] { return member.inbox.messages().size() == 2; }));
}

TEST_CASE("members' connections are bounded in number, and there is room again later") {
  Member member(2, test_options(), 3);
  std::vector<RawClient> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back(member.port());
    REQUIRE(callers.back().send(hello(static_cast<MemberId>(10 + i), 2) + messages({"in"})));
    REQUIRE(wait_until([&] { return member.inbox.messages().size() == static_cast<size_t>(i + 1); }));
  }
  RawClient extra(member.port());
  extra.send(hello(20, 2) + messages({"too many"}));
  CHECK(extra.receive().empty());
  callers.clear();
  CHECK(wait_until([&] {
    RawClient(member.port()).send(hello(21, 2) + messages({"again"}));
    return member.inbox.messages().size() > 3;
  }));
  for (const auto& [from, message] : member.inbox.messages()) CHECK(from != 20);
}

TEST_CASE("clients that fill the server don't keep members out") {
  Options options = test_options();
  options.max_conns = 2;
  Member member(2, options);
  RawClient first(member.port()), second(member.port());
  CHECK(first.run(ping).find("ok").to_double() == 1);
  CHECK(second.run(ping).find("ok").to_double() == 1);
  RawClient third(member.port());
  third.send(encode_msg(1, 0, ping));
  CHECK(third.receive().empty());
  CHECK(wait_until([&] { return member.connections().rejected.get() == 1; }));
  RawClient silent(member.port());
  RawClient caller(member.port());
  caller.send(hello(1, 2) + messages({"in"}));
  CHECK(wait_until([&] { return member.inbox.messages().size() == 1; }));
  CHECK(silent.receive().empty());  // its second connection is over
  CHECK(wait_until([&] { return member.connections().rejected.get() == 2; }));
  CHECK(member.connections().current.get() == 2);
}

TEST_CASE("a server without a set closes a member's connection") {
  TestServer server;
  RawClient caller(server.listener.port());
  caller.send(hello(1, 2));
  CHECK(caller.receive().empty());
  CHECK(RawClient(server.listener.port()).run(ping).find("ok").to_double() == 1);
}

TEST_CASE("a listener stops while members are connected and one is about to be") {
  Options options = test_options();
  options.max_conns = 1;
  auto member = std::make_unique<Member>(2, options);
  RawClient client(member->port());
  CHECK(client.run(ping).has("ok"));
  RawClient caller(member->port()), silent(member->port());
  caller.send(hello(1, 2) + messages({"in"}));
  CHECK(wait_until([&] { return member->inbox.messages().size() == 1; }));
  member->listener.stop();
  member.reset();
  CHECK(caller.receive().empty());
  CHECK(silent.receive().empty());
}

}  // namespace server::wire
