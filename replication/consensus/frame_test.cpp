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
