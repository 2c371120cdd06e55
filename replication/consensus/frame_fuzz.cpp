// The input is taken as a frame between members, once its length and its checksum are put right. It is refused, or is a greeting
// or messages that are written back as they were. The same bytes are taken as an inquiry, too.
#include "base/fuzz_target.h"
#include "base/hash.h"
#include "replication/consensus/frame.h"
#include "replication/consensus/inquiry.h"

namespace {

using namespace replication::consensus;

constexpr size_t length_at = 4, checksum_at = 16;

base::Result<Bytes> payload_of(BytesView frame, FrameKind* kind) {
  const BytesView header_bytes = frame.substr(0, frame_header_bytes);
  const auto header = decode_header(header_bytes);
  if (!header.ok()) return header.failure();
  *kind = header.value().kind;
  FrameDecompressor decompressor;
  return decode_payload(header_bytes, header.value(), Bytes(frame.substr(header_bytes.size())), decompressor);
}

Bytes put_right(BytesView input) {
  Bytes frame(input);
  if (frame.size() < frame_header_bytes) return frame;
  const BytesView payload = input.substr(frame_header_bytes);
  base::store_le(frame.data() + length_at, static_cast<uint32_t>(payload.size()));
  base::store_le(frame.data() + checksum_at, base::hash64(payload, base::hash64(BytesView(frame).substr(0, checksum_at))));
  return frame;
}

void check_greeting(BytesView payload) {
  const auto hello = decode_hello(payload);
  if (!hello.ok()) return;
  const auto again = decode_hello(encode_hello(hello.value()));
  base::check(again.ok() && again.value().set_name == hello.value().set_name && again.value().from == hello.value().from &&
              again.value().to == hello.value().to && again.value().lane == hello.value().lane);
}

void check_messages(BytesView payload) {
  Bytes back;
  for (BytesView left = payload; !left.empty();) {
    const auto message = take_message(left);
    if (!message) return;
    append_message(back, *message);
  }
  base::check(back.size() <= payload.size());  // lengths may have been longer than needed
}

void check_compressed(BytesView payload) {
  FrameKind kind{};
  FrameCompressor compressor;
  const auto back = payload_of(encode_frame(FrameKind::messages, payload, &compressor), &kind);
  base::check(back.ok() && back.value() == payload);
}

bool check_inquiry(BytesView message) {
  const auto inquiry = decode_inquiry(message);
  if (!inquiry) return false;
  const auto again = decode_inquiry(inquiry->question ? inquiry_question() : inquiry_answer(inquiry->answer));
  base::check(again && again->question == inquiry->question && again->answer.applied == inquiry->answer.applied &&
              again->answer.electable == inquiry->answer.electable);
  return true;
}

bool run(BytesView input) {
  if (check_inquiry(input)) return true;
  FrameKind kind{};
  const auto payload = payload_of(put_right(input), &kind);
  if (!payload.ok()) return false;
  kind == FrameKind::hello ? check_greeting(payload.value()) : check_messages(payload.value());
  const auto plain = payload_of(encode_frame(kind, payload.value()), &kind);
  base::check(plain.ok() && plain.value() == payload.value());
  // One in 16, for a compressor's stream takes megabytes.
  if (kind == FrameKind::messages && base::hash64(payload.value()) % 16 == 0) check_compressed(payload.value());
  return true;
}

std::vector<Bytes> seeds() {
  Bytes messages;
  append_message(messages, "a message, a message, a message, a message, a message, a message, a message, a message");
  append_message(messages, "and another one");
  FrameCompressor compressor;
  return {encode_frame(FrameKind::hello, encode_hello({.set_name = "rs", .from = 1, .to = 300, .lane = 1})),
          encode_frame(FrameKind::messages, messages), encode_frame(FrameKind::messages, messages, &compressor),
          inquiry_question(), inquiry_answer({.applied = 700, .electable = true})};
}

const base::FuzzTarget target("frame", run, seeds);

}  // namespace
