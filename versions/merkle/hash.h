// SHA-256: what nodes are called by.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace versions::merkle {

using base::Bytes;
using base::BytesView;

using Hash = std::array<uint8_t, 32>;

inline BytesView view(const Hash& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

inline Hash read_hash(const char* bytes) {
  Hash hash;
  std::memcpy(hash.data(), bytes, hash.size());
  return hash;
}
// Off the front; nullopt where it is cut short.
inline std::optional<Hash> take_hash(BytesView& in) {
  if (in.size() < sizeof(Hash)) return std::nullopt;
  const Hash hash = read_hash(in.data());
  in.remove_prefix(sizeof(Hash));
  return hash;
}

Hash sha256(BytesView bytes);

// The same of many messages, side by side where that is faster on this processor than one after the other: with AVX-512, and with
// AVX2 where there are no instructions for SHA.
struct Message {
  BytesView bytes;
  Hash* hash;  // where it goes
};
void sha256_many(std::span<const Message> messages);
// So many at a time, 8 or 16, where the processor has registers for that; else one after the other.
void sha256_many(std::span<const Message> messages, size_t lanes);

}  // namespace versions::merkle
