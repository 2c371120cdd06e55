#include "replication/consensus/frame.h"

#include <zstd.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/varint.h"

namespace replication::consensus {
namespace {

constexpr uint64_t hello_version = 2;
constexpr size_t compress_bytes_min = 64;
constexpr int compression_level = 3;
constexpr int window_log = 21;  // 2 MB remembered, on each side
constexpr size_t part_kept_max = 2 << 20;
constexpr size_t worth_share = 16;  // saves at least this part
constexpr size_t in_vain_max = 64 << 10;
constexpr size_t checked_header_bytes = 16;

uint64_t checksum(BytesView header, BytesView payload) {
  return base::hash64(payload, base::hash64(header.substr(0, checked_header_bytes)));
}

base::Failure wrong(const char* what) {
  return {base::ErrorCode::protocol_error, std::string("a frame between members ") + what};
}

}  // namespace

struct FrameCompressor::Stream {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ~Stream() { ZSTD_freeCCtx(context); }
};

FrameCompressor::FrameCompressor() : stream_(std::make_unique<Stream>()) {
  ZSTD_CCtx_setParameter(stream_->context, ZSTD_c_compressionLevel, compression_level);
  ZSTD_CCtx_setParameter(stream_->context, ZSTD_c_windowLog, window_log);
}
FrameCompressor::~FrameCompressor() = default;

std::optional<BytesView> FrameCompressor::next(BytesView payload) {
  if (skip_ > 0) {
    skip_ -= std::min(skip_, payload.size());
    return std::nullopt;
  }
  const size_t most = ZSTD_compressBound(payload.size()) + 64;
  if (part_.size() < most || part_.size() > std::max(most, part_kept_max)) part_ = Bytes(most, '\0');
  ZSTD_inBuffer from{payload.data(), payload.size(), 0};
  ZSTD_outBuffer to{part_.data(), part_.size(), 0};
  const size_t left = ZSTD_compressStream2(stream_->context, &to, &from, ZSTD_e_flush);
  base::check(left == 0 && from.pos == from.size, "a payload fits into what it can become at most");
  if (to.pos < payload.size() - payload.size() / worth_share) {
    in_vain_ = 0;
    skip_next_ = skip_bytes_min;
  } else if ((in_vain_ += payload.size()) >= in_vain_max) {
    in_vain_ = 0;
    skip_ = skip_next_;
    skip_next_ = std::min(skip_next_ * 2, skip_bytes_max);
  }
  return BytesView(part_).substr(0, to.pos);
}

struct FrameDecompressor::Stream {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ~Stream() { ZSTD_freeDCtx(context); }
};

FrameDecompressor::FrameDecompressor() : stream_(std::make_unique<Stream>()) {
  ZSTD_DCtx_setParameter(stream_->context, ZSTD_d_windowLogMax, window_log);
}
FrameDecompressor::~FrameDecompressor() = default;

std::optional<Bytes> FrameDecompressor::next(BytesView part, size_t raw_bytes) {
  // Memory for what comes, not for what was announced.
  constexpr size_t step = 1 << 20;
  Bytes out;
  ZSTD_inBuffer from{part.data(), part.size(), 0};
  for (;;) {
    const size_t before = out.size(), most = std::min(raw_bytes + 1 - before, step);  // one more: it must not come
    out.resize(before + most);
    ZSTD_outBuffer to{out.data() + before, most, 0};
    const size_t result = ZSTD_decompressStream(stream_->context, &to, &from);
    out.resize(before + to.pos);
    if (ZSTD_isError(result) || out.size() > raw_bytes) return std::nullopt;
    if (from.pos == from.size && to.pos < most) break;
  }
  return out.size() == raw_bytes ? std::optional(std::move(out)) : std::nullopt;
}

Bytes encode_frame(FrameKind kind, BytesView payload, FrameCompressor* compressor) {
  std::optional<BytesView> part;
  if (compressor && payload.size() >= compress_bytes_min) part = compressor->next(payload);
  const BytesView body = part.value_or(payload);
  Bytes out;
  out.reserve(frame_header_bytes + body.size());
  base::append_le(out, frame_magic);
  base::append_le(out, static_cast<uint32_t>(body.size()));
  out.push_back(static_cast<char>(kind));
  out.push_back(part ? 1 : 0);
  base::append_le(out, uint16_t{0});
  base::append_le(out, static_cast<uint32_t>(payload.size()));
  base::append_le(out, checksum(out, body));
  out.append(body);
  return out;
}

base::Result<FrameHeader> decode_header(BytesView bytes) {
  if (bytes.size() != frame_header_bytes || base::load_le<uint32_t>(bytes.data()) != frame_magic)
    return wrong("does not begin like one");
  FrameHeader header{static_cast<FrameKind>(bytes[8]), bytes[9] == 1, base::load_le<uint32_t>(bytes.data() + 4),
                     base::load_le<uint32_t>(bytes.data() + 12)};
  if (header.kind != FrameKind::hello && header.kind != FrameKind::messages) return wrong("is of no known kind");
  const size_t most = header.kind == FrameKind::hello ? hello_bytes_max : frame_bytes_max;
  if (header.payload_bytes > most || header.raw_bytes > most) return wrong("is too large");
  if (!header.compressed && header.payload_bytes != header.raw_bytes) return wrong("has two lengths");
  return header;
}

base::Result<Bytes> decode_payload(BytesView header_bytes, const FrameHeader& header, Bytes payload,
                                   FrameDecompressor& decompressor) {
  if (payload.size() != header.payload_bytes ||
      base::load_le<uint64_t>(header_bytes.data() + 16) != checksum(header_bytes, payload)) {
    return wrong("was damaged on its way");
  }
  if (!header.compressed) return payload;
  std::optional<Bytes> out = decompressor.next(payload, header.raw_bytes);
  if (!out) return wrong("does not decompress");
  return std::move(*out);
}

Bytes encode_hello(const Hello& hello) {
  Bytes out;
  for (uint64_t number : {hello_version, hello.from, hello.to, uint64_t{hello.lane}}) base::append_varint(out, number);
  return out + hello.set_name;
}

base::Result<Hello> decode_hello(BytesView payload) {
  uint64_t numbers[4];
  for (uint64_t& number : numbers) {
    const auto value = base::take_varint(payload);
    if (!value) return wrong("has no greeting in it");
    number = *value;
  }
  if (numbers[0] != hello_version || numbers[3] > 1) return wrong("greets in another version");
  return Hello{Bytes(payload), numbers[1], numbers[2], static_cast<uint32_t>(numbers[3])};
}

void append_message(Bytes& payload, BytesView message) {
  base::append_varint(payload, message.size());
  payload.append(message);
}

std::optional<BytesView> take_message(BytesView& payload) {
  const auto bytes = base::take_varint(payload);
  if (!bytes || *bytes > payload.size()) return std::nullopt;
  const BytesView message = payload.substr(0, *bytes);
  payload.remove_prefix(*bytes);
  return message;
}

}  // namespace replication::consensus
