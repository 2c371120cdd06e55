// This is SHA-256, by which nodes are named.
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
// HashOfHash serves unordered containers. It takes the first bytes of a hash, which are spread already.
struct HashOfHash {
  size_t operator()(const Hash& hash) const { return base::load_le<size_t>(hash.data()); }
};

// Takes a hash off the front; nullopt: there are too few bytes.
inline std::optional<Hash> take_hash(BytesView& in) {
  if (in.size() < sizeof(Hash)) return std::nullopt;
  const Hash hash = read_hash(in.data());
  in.remove_prefix(sizeof(Hash));
  return hash;
}

Hash sha256(BytesView bytes);

// Hashes many messages, side by side if that is faster on this processor than one after the other: with AVX-512, and with AVX2 on
// processors without instructions for SHA.
struct Message {
  BytesView bytes;
  Hash* hash;  // receives the hash
};
void sha256_many(std::span<const Message> messages);
// Hashes 8 or 16 at a time, as `lanes` says, if the processor has registers for that; otherwise one after the other.
void sha256_many(std::span<const Message> messages, size_t lanes);

}  // namespace versions::merkle
