#include "versions/merkle/hash.h"

// The old calls: each of the new ones takes a tenth of a section's hashing more.
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

// nullptr: not on this processor.
Compress* compress_of([[maybe_unused]] size_t lanes) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (lanes == 16 && __builtin_cpu_supports("avx512f")) return compress_16;
  if (lanes == 8 && __builtin_cpu_supports("avx2")) return compress_8;
#endif
  return nullptr;
}

size_t best_lanes() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool has_sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1u << 29)) != 0;
  if (has_sha) return 1;
#endif
  return compress_of(16) != nullptr ? 16 : 8;
}

size_t blocks_of(BytesView bytes) { return (bytes.size() + 9 + 63) / 64; }

// The last one or two blocks of a message: its end, a one bit, its length.
struct Tail {
  std::array<uint8_t, 128> bytes;
  size_t whole = 0;  // blocks before it

  explicit Tail(BytesView message) : whole(message.size() / 64) {
    const size_t rest = message.size() % 64, length = blocks_of(message) * 64 - whole * 64;
    std::memset(bytes.data(), 0, bytes.size());
    std::copy_n(message.data() + whole * 64, rest, bytes.data());
    bytes[rest] = 0x80;
    base::store_le(bytes.data() + length - 8, base::byte_swap(uint64_t{message.size()} * 8));
  }
};

// At most so many messages as there are lanes: as many blocks as the longest, each lane kept where its own end is.
void hash_group(Compress* compress, size_t lanes, std::span<const Message* const> group) {
  static constexpr uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  alignas(64) uint32_t state[8][lanes_max];
  for (size_t word = 0; word < 8; ++word) std::fill_n(state[word], lanes_max, start[word]);
  std::vector<Tail> tails;
  tails.reserve(group.size());
  size_t longest = 0;
  for (const Message* message : group) {
    tails.emplace_back(message->bytes);
    longest = std::max(longest, blocks_of(message->bytes));
  }
  const uint8_t* blocks[lanes_max];
  for (size_t block = 0; block < longest; ++block) {
    for (size_t lane = 0; lane < lanes; ++lane) {
      // Lanes that are done, or have no message, hash whatever is at hand.
      if (lane >= group.size() || block >= blocks_of(group[lane]->bytes)) blocks[lane] = tails[0].bytes.data();
      else if (block < tails[lane].whole) blocks[lane] = base::as_u8(group[lane]->bytes) + block * 64;
      else blocks[lane] = tails[lane].bytes.data() + (block - tails[lane].whole) * 64;
    }
    compress(state, blocks);
    for (size_t lane = 0; lane < group.size(); ++lane) {
      if (block + 1 != blocks_of(group[lane]->bytes)) continue;
      for (size_t word = 0; word < 8; ++word) base::store_le(group[lane]->hash->data() + 4 * word, __builtin_bswap32(state[word][lane]));
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
  static const size_t lanes = best_lanes();
  sha256_many(messages, messages.size() < 3 ? 1 : lanes);
}

void sha256_many(std::span<const Message> messages, size_t lanes) {
  Compress* const compress = compress_of(lanes);
  if (compress == nullptr) {
    for (const Message& message : messages) *message.hash = sha256(message.bytes);
    return;
  }
  // Those of like length together: a group takes as long as its longest.
  std::vector<const Message*> order;
  order.reserve(messages.size());
  for (const Message& message : messages) order.push_back(&message);
  std::sort(order.begin(), order.end(), [](const Message* a, const Message* b) { return blocks_of(a->bytes) < blocks_of(b->bytes); });
  for (size_t i = 0; i < order.size(); i += lanes) {
    hash_group(compress, lanes, std::span<const Message* const>(order).subspan(i, std::min(lanes, order.size() - i)));
  }
}

}  // namespace versions::merkle
