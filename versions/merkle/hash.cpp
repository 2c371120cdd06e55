#include "versions/merkle/hash.h"

// These are OpenSSL's old functions: each of the new ones takes a tenth of a section's hashing more.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <algorithm>
#include <vector>

#include "versions/merkle/sha256_lanes.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace versions::merkle {
namespace {

// nullptr: this processor can't do it.
Compress* compress_of([[maybe_unused]] size_t lanes) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (lanes == 16 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) return compress_16;
  if (lanes == 8 && __builtin_cpu_supports("avx2")) return compress_8;
#endif
  return nullptr;
}

bool has_instructions_for_sha() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1u << 29)) != 0;
#else
  return false;
#endif
}

// `lanes` messages are hashed side by side if there are at least `messages_min`, otherwise one after the other.
struct Best {
  size_t lanes, messages_min;
};

// Measured on a Zen 5: sixteen lanes 3.1 GB/s, eight 1.2, the instructions for SHA 1.6.
Best best() {
  const bool has_sha = has_instructions_for_sha();
  if (compress_of(16) != nullptr) return {16, has_sha ? 9u : 3u};
  return {has_sha ? 1u : 8u, 3};
}

size_t blocks_of(BytesView bytes) {
  return (bytes.size() + 9 + 63) / 64;
}

// A Lane has a message on its way through it.
struct Lane {
  alignas(64) uint8_t tail[128];  // the last one or two blocks: the message's end, a one bit, its length
  const uint8_t* next;
  size_t whole, left;  // how many blocks come before the tail; how many are left, the tail's included
  Hash* hash;

  void take(const Message& message) {
    const BytesView bytes = message.bytes;
    next = base::as_u8(bytes);
    whole = bytes.size() / 64;
    left = blocks_of(bytes);
    hash = message.hash;
    const size_t rest = bytes.size() % 64, length = (left - whole) * 64;
    std::memset(tail, 0, sizeof tail);
    std::copy_n(next + whole * 64, rest, tail);
    tail[rest] = 0x80;
    base::store_le(tail + length - 8, base::byte_swap(uint64_t{bytes.size()} * 8));
    if (whole == 0) next = tail;
  }
};

// A lane that is done takes the next message at once, so that all lanes have something to do until the end. Long messages come
// first.
void hash_all(Compress* compress, size_t lanes, std::span<const Message* const> messages) {
  static constexpr uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  static constexpr uint8_t nothing[64] = {};
  alignas(64) uint32_t state[8][lanes_max];
  Lane all[lanes_max];
  const uint8_t* blocks[lanes_max];
  size_t taken = 0, busy = 0;
  const auto take = [&](size_t lane) {
    if (taken == messages.size()) {
      all[lane].hash = nullptr;
      blocks[lane] = nothing;
      return;
    }
    all[lane].take(*messages[taken++]);
    blocks[lane] = all[lane].next;
    for (size_t word = 0; word < 8; ++word) state[word][lane] = start[word];
    ++busy;
  };
  std::memset(state, 0, sizeof state);
  for (size_t lane = 0; lane < lanes; ++lane) take(lane);
  while (busy > 0) {
    compress(state, blocks);
    for (size_t at = 0; at < lanes; ++at) {
      Lane& lane = all[at];
      if (lane.hash == nullptr) continue;
      if (--lane.left == 0) {
        for (size_t word = 0; word < 8; ++word) base::store_le(lane.hash->data() + 4 * word, __builtin_bswap32(state[word][at]));
        --busy;
        take(at);
      } else if (lane.whole > 0 && --lane.whole == 0) {
        blocks[at] = lane.tail;
      } else {
        blocks[at] += 64;
      }
    }
  }
}

}  // namespace

Hash sha256(BytesView bytes) {
  Hash hash;
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(hash.data(), &context);
  return hash;
}

void sha256_many(std::span<const Message> messages) {
  static const Best known = best();
  sha256_many(messages, messages.size() < known.messages_min ? 1 : known.lanes);
}

void sha256_many(std::span<const Message> messages, size_t lanes) {
  Compress* const compress = compress_of(lanes);
  if (compress == nullptr) {
    for (const Message& message : messages) *message.hash = sha256(message.bytes);
    return;
  }
  std::vector<const Message*> order;
  order.reserve(messages.size());
  for (const Message& message : messages) order.push_back(&message);
  constexpr size_t long_blocks = 16;
  const auto longer =
      std::partition(order.begin(), order.end(), [](const Message* message) { return blocks_of(message->bytes) > long_blocks; });
  std::sort(order.begin(), longer, [](const Message* a, const Message* b) { return a->bytes.size() > b->bytes.size(); });
  hash_all(compress, lanes, order);
}

}  // namespace versions::merkle
