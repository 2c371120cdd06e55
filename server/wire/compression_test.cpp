#include "server/wire/compression.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "base/random.h"
#include "bson/json.h"

namespace server::wire {

TEST_CASE("a packed message unpacks to the same message") {
  for (Compressor compressor : {Compressor::none, Compressor::snappy, Compressor::zlib, Compressor::zstd}) {
    CHECK(rc::check(std::string(compressor_name(compressor)), [&](const std::string& text) {
      bson::Builder body;
      body.append("x", text).append("$db", "d");
      const Bytes message = encode_msg(77, 0, body.done());
      const Bytes packed = pack(message, compressor);
      RC_ASSERT(decode_header(packed).or_throw().opcode == OpCode::compressed);
      auto unpacked = unpack(packed);
      RC_ASSERT(unpacked.ok());
      RC_ASSERT(unpacked->message == message);
      RC_ASSERT(unpacked->compressor == compressor);
    }));
  }
}

TEST_CASE("damaged compressed messages are refused or unpack to something, never more") {
  const Bytes message = encode_msg(1, 0, bson::json("{ping: 1, $db: 'admin', text: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'}"));
  for (Compressor compressor : {Compressor::snappy, Compressor::zlib, Compressor::zstd}) {
    const Bytes packed = pack(message, compressor);
    CHECK(rc::check("flipped bytes", [&](uint64_t seed) {
      base::Random random(seed);
      Bytes bytes = packed;
      bytes[16 + random.below(bytes.size() - 16)] = static_cast<char>(random());
      auto unpacked = unpack(bytes);
      if (unpacked) RC_ASSERT(unpacked->message.size() <= static_cast<size_t>(message_bytes_max));
    }));
  }
}

TEST_CASE("promises beyond the limit and nesting are refused") {
  const Bytes packed = pack(encode_msg(1, 0, bson::json("{ping: 1}")), Compressor::snappy);
  Bytes huge = packed;
  base::store_le(huge.data() + 20, message_bytes_max);
  CHECK_FALSE(unpack(huge).ok());
  Bytes negative = packed;
  base::store_le(negative.data() + 20, -1);
  CHECK_FALSE(unpack(negative).ok());
  CHECK_FALSE(unpack(pack(packed, Compressor::snappy)).ok());
  Bytes unknown = packed;
  unknown[24] = 9;
  CHECK_FALSE(unpack(unknown).ok());
  CHECK_FALSE(unpack(packed.substr(0, 20)).ok());
}

}  // namespace server::wire
