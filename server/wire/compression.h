// An OP_COMPRESSED message has another message inside, compressed.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "server/wire/message.h"

namespace server::wire {

enum class Compressor : uint8_t { none = 0, snappy = 1, zlib = 2, zstd = 3 };

std::optional<Compressor> compressor_named(std::string_view name);
std::string_view compressor_name(Compressor compressor);

struct Unpacked {
  Bytes message;  // whole, with a header of its own
  Compressor compressor;
};

// An OP_COMPRESSED message says this about the message inside.
struct Wrapping {
  Compressor compressor;
  size_t raw_bytes;  // without a header; at most message_bytes_max
};
base::Result<Wrapping> wrapping_of(BytesView whole);

// `whole` is an OP_COMPRESSED message. Fails if lengths are wrong or the bytes don't decompress to exactly the length that the
// message names, at most message_bytes_max.
base::Result<Unpacked> unpack(BytesView whole);

// Returns the message `whole` as OP_COMPRESSED with the same ids.
Bytes pack(BytesView whole, Compressor compressor);

}  // namespace server::wire
