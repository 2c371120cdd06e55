// What a commit is called by: hashes over contents, and over a commit's own bytes.
#pragma once

#include <array>

#include "base/bytes.h"

namespace versions {

using base::Bytes;
using base::BytesView;

// SHA-256.
using Hash = std::array<uint8_t, 32>;
Hash sha256(BytesView bytes);
inline BytesView view(const Hash& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

// A digest of a set of documents: the sum, modulo 2^256, of one hash a document. Equal sets have equal digests, in whatever
// order and on whatever branch they came about, and a change of the set changes the digest by the hashes of what changed.
// It tells apart what differs by accident; against somebody who makes documents to collide, a sum is no protection.
struct SetDigest {
  std::array<uint64_t, 4> words{};

  SetDigest& operator+=(const SetDigest& other);
  SetDigest& operator-=(const SetDigest& other);
  bool operator==(const SetDigest&) const = default;
};
SetDigest digest_of(BytesView key, BytesView content);

Bytes write_digest(const SetDigest& digest);  // 32 bytes
SetDigest read_digest(BytesView bytes);       // of exactly so many

}  // namespace versions
