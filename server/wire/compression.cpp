#include "server/wire/compression.h"

#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <memory>

namespace server::wire {

using base::ErrorCode;
using base::Failure;
using base::load_le;

namespace {

constexpr size_t compressed_prefix_bytes = header_bytes + 9;
constexpr int zstd_level = 3;

// Contexts are a quarter of a megabyte and cost more to make than to use.
ZSTD_CCtx* zstd_compressor() {
  thread_local std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  return context.get();
}
ZSTD_DCtx* zstd_decompressor() {
  thread_local std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  return context.get();
}

// Returns true if exactly `size` bytes came out.
bool decompress(Compressor compressor, BytesView in, char* to, size_t size) {
  switch (compressor) {
    case Compressor::none:
      if (in.size() != size) return false;
      std::memcpy(to, in.data(), size);
      return true;
    case Compressor::snappy: {
      size_t promised = 0;
      return snappy::GetUncompressedLength(in.data(), in.size(), &promised) && promised == size &&
             snappy::RawUncompress(in.data(), in.size(), to);
    }
    case Compressor::zlib: {
      uLongf got = size;
      return ::uncompress(reinterpret_cast<Bytef*>(to), &got, base::as_u8(in), in.size()) == Z_OK && got == size;
    }
    case Compressor::zstd: return ZSTD_decompressDCtx(zstd_decompressor(), to, size, in.data(), in.size()) == size;
  }
  return false;
}

size_t compress(Compressor compressor, BytesView in, char* to, size_t room) {
  switch (compressor) {
    case Compressor::none: std::memcpy(to, in.data(), in.size()); return in.size();
    case Compressor::snappy: {
      size_t size = 0;
      snappy::RawCompress(in.data(), in.size(), to, &size);
      return size;
    }
    case Compressor::zlib: {
      uLongf size = room;
      base::check(::compress2(reinterpret_cast<Bytef*>(to), &size, base::as_u8(in), in.size(), Z_DEFAULT_COMPRESSION) == Z_OK,
                  "zlib has room");
      return size;
    }
    case Compressor::zstd: {
      const size_t size = ZSTD_compressCCtx(zstd_compressor(), to, room, in.data(), in.size(), zstd_level);
      base::check(!ZSTD_isError(size), "zstd has room");
      return size;
    }
  }
  return 0;
}

size_t room_for(Compressor compressor, size_t size) {
  switch (compressor) {
    case Compressor::none: return size;
    case Compressor::snappy: return snappy::MaxCompressedLength(size);
    case Compressor::zlib: return ::compressBound(size);
    case Compressor::zstd: return ZSTD_compressBound(size);
  }
  return 0;
}

}  // namespace

std::optional<Compressor> compressor_named(std::string_view name) {
  if (name == "snappy") return Compressor::snappy;
  if (name == "zlib") return Compressor::zlib;
  if (name == "zstd") return Compressor::zstd;
  return std::nullopt;
}

std::string_view compressor_name(Compressor compressor) {
  static constexpr std::string_view names[] = {"noop", "snappy", "zlib", "zstd"};
  return names[static_cast<size_t>(compressor)];
}

base::Result<Wrapping> wrapping_of(BytesView whole) {
  if (whole.size() < compressed_prefix_bytes) return Failure{ErrorCode::bad_value, "OP_COMPRESSED is too short"};
  const auto opcode = load_le<int32_t>(whole.data() + 16);
  const auto raw_bytes = load_le<int32_t>(whole.data() + 20);
  const auto compressor = static_cast<uint8_t>(whole[24]);
  if (compressor > static_cast<uint8_t>(Compressor::zstd)) {
    return Failure{ErrorCode::bad_value, "Compression algorithm " + std::to_string(compressor) + " is not known"};
  }
  if (raw_bytes < 0 || raw_bytes > message_bytes_max - header_bytes) {
    return Failure{ErrorCode::bad_value, "Decompressed message would be larger than maximum message size"};
  }
  if (static_cast<OpCode>(opcode) == OpCode::compressed)
    return Failure{ErrorCode::bad_value, "OP_COMPRESSED inside OP_COMPRESSED"};
  return Wrapping{static_cast<Compressor>(compressor), static_cast<size_t>(raw_bytes)};
}

base::Result<Unpacked> unpack(BytesView whole) {
  auto header = decode_header(whole);
  if (!header) return header.failure();
  auto wrapping = wrapping_of(whole);
  if (!wrapping) return wrapping.failure();
  const auto opcode = load_le<int32_t>(whole.data() + 16);
  const BytesView packed = whole.substr(compressed_prefix_bytes);
  Unpacked unpacked{Bytes(wrapping->raw_bytes + header_bytes, '\0'), wrapping->compressor};
  store_header(unpacked.message.data(), {static_cast<int32_t>(wrapping->raw_bytes) + header_bytes, header->request_id,
                                         header->response_to, static_cast<OpCode>(opcode)});
  if (!decompress(unpacked.compressor, packed, unpacked.message.data() + header_bytes, wrapping->raw_bytes)) {
    return Failure{ErrorCode::bad_value, "Decompressing the message failed"};
  }
  return unpacked;
}

Bytes pack(BytesView whole, Compressor compressor) {
  const BytesView raw = whole.substr(header_bytes);
  Bytes out(compressed_prefix_bytes + room_for(compressor, raw.size()), '\0');
  const size_t size = compress(compressor, raw, out.data() + compressed_prefix_bytes, out.size() - compressed_prefix_bytes);
  out.resize(compressed_prefix_bytes + size);
  const auto header = decode_header(whole).or_throw();
  store_header(out.data(), {static_cast<int32_t>(out.size()), header.request_id, header.response_to, OpCode::compressed});
  base::store_le(out.data() + 16, static_cast<int32_t>(header.opcode));
  base::store_le(out.data() + 20, static_cast<int32_t>(raw.size()));
  out[24] = static_cast<char>(compressor);
  return out;
}

}  // namespace server::wire
