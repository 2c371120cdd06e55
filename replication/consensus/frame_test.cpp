#include <catch2/catch.hpp>

#include "base/random.h"
#include "replication/consensus/frame.h"
#include "replication/consensus/test_support.h"

using namespace replication::consensus;

namespace {

base::Result<Bytes> decode(BytesView bytes, FrameDecompressor&& decompressor = {}) {
  if (bytes.size() < frame_header_bytes) return base::Failure{base::ErrorCode::protocol_error, "short"};
  const BytesView head = bytes.substr(0, frame_header_bytes);
  const base::Result<FrameHeader> header = decode_header(head);
  if (!header) return header.failure();
  return decode_payload(head, header.value(), Bytes(bytes.substr(frame_header_bytes)), decompressor);
}

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

TEST_CASE("a frame comes out as it went in, and no changed byte goes unnoticed") {
  for (const bool compress : {false, true}) {
    Bytes payload;
    append_message(payload, "one");
    append_message(payload, Bytes(5000, 'x'));
    FrameCompressor compressor;
    const Bytes frame = encode_frame(FrameKind::messages, payload, compress ? &compressor : nullptr);
    CHECK((frame.size() < 1000) == compress);
    auto back = decode(frame);
    REQUIRE(back);
    CHECK(back.value() == payload);
    for (size_t at = 0; at<frame.size(); at += frame.size()> 500 ? 37 : 1) {
      Bytes damaged = frame;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
      const auto result = decode(damaged);
      CHECK_FALSE(result.ok());
    }
    CHECK_FALSE(decode(BytesView(frame).substr(0, frame.size() - 1)).ok());
  }
}

TEST_CASE("frames of one connection share what they have in common") {
  base::Random random(5);
  Bytes text;
  for (int i = 0; i < 5000; ++i) text.push_back(static_cast<char>(random.below(256)));
  FrameCompressor compressor;
  FrameDecompressor decompressor;
  for (int i = 0; i < 20; ++i) {
    Bytes payload;
    append_message(payload, "entry " + std::to_string(i) + text);
    const Bytes frame = encode_frame(FrameKind::messages, payload, &compressor);
    if (i > 0) CHECK(frame.size() < 100);
    const BytesView head = BytesView(frame).substr(0, frame_header_bytes);
    const auto back = decode_payload(head, decode_header(head).value(), frame.substr(frame_header_bytes), decompressor);
    REQUIRE(back);
    CHECK(back.value() == payload);
  }
  // One that comes without those before it is refused.
  const Bytes late = encode_frame(FrameKind::messages, text, &compressor);
  CHECK_FALSE(decode(late).ok());
}

TEST_CASE("what does not get smaller is sent as it is, until something does again") {
  base::Random random(6);
  FrameCompressor compressor;
  FrameDecompressor decompressor;
  const auto compressed = [&](const Bytes& payload) {
    const Bytes frame = encode_frame(FrameKind::messages, payload, &compressor);
    const BytesView head = BytesView(frame).substr(0, frame_header_bytes);
    const FrameHeader header = decode_header(head).value();
    const auto back = decode_payload(head, header, frame.substr(frame_header_bytes), decompressor);
    REQUIRE(back);
    CHECK(back.value() == payload);
    return header.compressed;
  };
  const auto noise = [&] {
    Bytes bytes(16'000, ' ');
    for (char& byte : bytes) byte = static_cast<char>(random.below(256));
    return bytes;
  };
  size_t tried = 0, frames = 2000;
  for (size_t i = 0; i < frames; ++i) tried += compressed(noise());
  CHECK(tried < frames / 20);
  size_t missed = 0;
  while (missed < FrameCompressor::skip_bytes_max && !compressed(Bytes(16'000, 'a'))) missed += 16'000;
  CHECK(missed < FrameCompressor::skip_bytes_max);
  for (int i = 0; i < 100; ++i) CHECK(compressed(Bytes(16'000, 'b')));
  // A frame in between is no reason to stop.
  for (int i = 0; i < 20; ++i) CHECK(compressed(i % 2 == 0 ? noise() : Bytes(16'000, 'c')));
}

TEST_CASE("garbage on the members' port is turned away, and members go on") {
  Counting at_a, at_b;
  TcpTransport a({.set_name = "set", .self = 1}), b({.set_name = "set", .self = 2});
  a.set_receiver(&at_a);
  b.set_receiver(&at_b);
  a.set_peer(2, "127.0.0.1", b.port());
  base::Random random(7);
  for (int i = 0; i < 60; ++i) {
    Socket stranger = connect_to("127.0.0.1", b.port(), 1000);
    REQUIRE(stranger.open());
    Bytes bytes;
    const uint64_t kind = random.below(5);
    if (kind == 0) bytes = encode_frame(FrameKind::hello, encode_hello({"another set", 1, 2, 0}));
    if (kind == 1) bytes = encode_frame(FrameKind::hello, encode_hello({"set", 1, 9, 0}));
    if (kind == 2) bytes = encode_frame(FrameKind::messages, "no greeting");
    if (kind == 3)
      bytes = encode_frame(FrameKind::hello, encode_hello({"set", 1, 2, 0})) + "PRF1 and then nonsense, long enough for a header";
    for (uint64_t n = kind == 4 ? random.below(300) : 0; n > 0; --n) bytes.push_back(static_cast<char>(random.below(256)));
    stranger.write_all(bytes);
  }
  CHECK(at_b.count() == 0);
  CHECK(wait_until([&] {
    a.send({{2, false, "hello"}, {2, true, Bytes(100'000, 'y')}});
    return at_b.count() >= 2;
  }));
}

TEST_CASE("messages for a peer that isn't there are lost and told, and flow once it is") {
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

TEST_CASE("what goes to a connection that the other side has closed is told, not lost unseen") {
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
  a.send({{2, true, "told"}});
  CHECK(wait_until([&] { return at_a.lost > 0; }));
  a.send({{2, true, "arrives"}});
  CHECK(wait_until([&] { return at_b.count() == 2; }));
  CHECK(wait_until([&] { return !a.under_way(2); }));
}

TEST_CASE("what a full queue doesn't take is told, and what waits is under way") {
  Counting at_a;
  TcpTransport a({.set_name = "set", .self = 1, .queue_bytes_max = 1 << 20});
  a.set_receiver(&at_a);
  const Socket nobody_reads = listen_on("127.0.0.1", 0);
  a.set_peer(2, "127.0.0.1", port_of(nobody_reads));
  CHECK_FALSE(a.under_way(2));
  for (int i = 0; i < 64 && at_a.lost == 0; ++i) a.send({{2, true, Bytes(1 << 20, 'x')}});
  CHECK(at_a.lost > 0);
  CHECK(a.under_way(2));
  // The same address again is no reason to begin anew.
  a.set_peer(2, "127.0.0.1", port_of(nobody_reads));
  CHECK(a.under_way(2));
}

TEST_CASE("a member's bytes that are no message are refused by the core") {
  MemoryLogDisk disk;
  start_log(disk, {1, 1}, {.index = 1, .voters = {1, 2, 3}, .learners = {}, .voters_outgoing = {}, .learners_next = {}});
  LogStore store(disk);
  RaftCore core({.id = 1, .applied = 1}, store);
  base::Random random(3);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes;
    // Fields of a message with values of all sizes, so that many decode.
    for (uint64_t n = random.below(8); n > 0; --n) {
      bytes.push_back(static_cast<char>((1 + random.below(16)) << 3));
      const uint64_t small = random.below(3) ? random.below(20) : random();
      for (uint64_t value = small;; value >>= 7) {
        bytes.push_back(static_cast<char>(value >= 0x80 ? value | 0x80 : value));
        if (value < 0x80) break;
      }
    }
    for (const Bytes& addressed : {bytes, Bytes("\x10\x01\x18\x02", 4) + bytes})
      refused += core.step(2, addressed) != StepResult::ok;
    while (core.has_output()) {
      Output out = core.take_output();
      if (out.write) core.written(out.write->number);
      if (!out.committed.empty()) core.applied(out.committed.back()->index);
    }
  }
  CHECK(refused > 20'000);
}
