// A frame is what goes over a connection between members (docs/formats/raft-wire.md):
//
//   | magic, 4 | payload bytes, 4 | kind, 1 | compressed, 1 | 0, 2 | raw bytes, 4 | checksum, 8 | payload … |
//
// A compressed payload is the next part of the connection's one zstd stream: a short entry is much like those before it, and
// alone would hardly get smaller. The checksum covers the header before it and the payload. A message of MongoDB's begins with
// its length, and none is as long as the magic would be: four bytes tell a member's connection from a client's.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "replication/consensus/types.h"

namespace replication::consensus {

enum class FrameKind : uint8_t { hello = 1, messages = 2 };

inline constexpr uint32_t frame_magic = 0x31465250;  // "PRF1"
inline constexpr size_t frame_header_bytes = 24;
inline constexpr size_t frame_bytes_max = 64 << 20;  // payload, also once decompressed
inline constexpr size_t hello_bytes_max = 1024;

struct FrameHeader {
  FrameKind kind;
  bool compressed;
  uint32_t payload_bytes;
  uint32_t raw_bytes;
};

// A hello says which member is calling, which one it means, and on which lane (0: control, 1: bulk).
struct Hello {
  Bytes set_name;
  MemberId from = 0;
  MemberId to = 0;
  uint32_t lane = 0;
};

// Each serves one connection, one way, and remembers the last of what went over it. Not thread-safe. After a failure it is of no
// use any more.
class FrameCompressor {
 public:
  FrameCompressor();
  ~FrameCompressor();
  // Valid until the next call. nullopt: what came last hardly got smaller, and this isn't tried; for ever more bytes, up to
  // skip_bytes_max.
  std::optional<BytesView> next(BytesView payload);

  static constexpr size_t skip_bytes_min = 256 << 10, skip_bytes_max = 4 << 20;

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
  Bytes part_;
  size_t in_vain_ = 0;  // bytes, since something got smaller
  size_t skip_ = 0, skip_next_ = skip_bytes_min;
};
class FrameDecompressor {
 public:
  FrameDecompressor();
  ~FrameDecompressor();
  // nullopt: damaged, or of another length.
  std::optional<Bytes> next(BytesView part, size_t raw_bytes);

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

// Every frame that the compressor was given to must arrive, in order.
Bytes encode_frame(FrameKind kind, BytesView payload, FrameCompressor* compressor = nullptr);
// `bytes`: frame_header_bytes of them. ProtocolError for what is no header.
base::Result<FrameHeader> decode_header(BytesView bytes);
// The payload as it was handed to encode_frame.
base::Result<Bytes> decode_payload(BytesView header_bytes, const FrameHeader& header, Bytes payload,
                                   FrameDecompressor& decompressor);

Bytes encode_hello(const Hello& hello);
base::Result<Hello> decode_hello(BytesView payload);

void append_message(Bytes& payload, BytesView message);
// Takes the first message off `payload`; nullopt: damaged.
std::optional<BytesView> take_message(BytesView& payload);

}  // namespace replication::consensus
