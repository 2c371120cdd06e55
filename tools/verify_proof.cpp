// Checks a proof that a key has a value below a root, or isn't there. Needs nothing but a C++20 compiler:
//
//   c++ -std=c++20 -O2 -o verify_proof verify_proof.cpp
//   verify_proof ROOT KEY PROOF
//
// ROOT and KEY in hexadecimal, PROOF a file (-: standard input). Prints `present` and the value in hexadecimal, or `absent`, and
// exits with 0; prints why the proof does not hold, and exits with 1; where there is nothing to check, with 2. With `--many FILE`
// it answers a line for each line `ROOT KEY PROOF` of the file, all in hexadecimal (- for nothing). Format: docs/formats/merkle.md.
#include <array>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Bytes = std::string;
using BytesView = std::string_view;

struct Invalid {
  const char* why;
};
void check(bool holds, const char* why) {
  if (!holds) throw Invalid{why};
}

// --- SHA-256 (FIPS 180-4)

uint32_t rotated(uint32_t value, int bits) { return value >> bits | value << (32 - bits); }

void take_block(std::array<uint32_t, 8>& state, const uint8_t* block) {
  static constexpr uint32_t constants[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
      0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
      0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
      0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
      0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
      0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) w[i] = uint32_t{block[4 * i]} << 24 | block[4 * i + 1] << 16 | block[4 * i + 2] << 8 | block[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    const uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + w[i - 7] + (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    const uint32_t first = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + w[i];
    const uint32_t second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const uint32_t after[8] = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state[i] += after[i];
}

Bytes sha256(BytesView text) {
  Bytes padded(text);
  padded.push_back(static_cast<char>(0x80));
  while (padded.size() % 64 != 56) padded.push_back(0);
  for (int shift = 56; shift >= 0; shift -= 8) padded.push_back(static_cast<char>(uint64_t{text.size()} * 8 >> shift));
  std::array<uint32_t, 8> state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (size_t i = 0; i < padded.size(); i += 64) take_block(state, reinterpret_cast<const uint8_t*>(padded.data()) + i);
  Bytes hash;
  for (const uint32_t word : state) {
    for (int shift = 24; shift >= 0; shift -= 8) hash.push_back(static_cast<char>(word >> shift));
  }
  return hash;
}

// --- reading

constexpr size_t hash_bytes = 32;

struct Reader {
  BytesView left;

  BytesView take(uint64_t count) {
    check(count <= left.size(), "it is cut short");
    const BytesView bytes = left.substr(0, count);
    left.remove_prefix(count);
    return bytes;
  }
  uint8_t byte() { return static_cast<uint8_t>(take(1)[0]); }
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t one = byte();
      if (shift == 63 && one > 1) break;
      value |= uint64_t{one & 0x7fu} << shift;
      if (one < 0x80) return value;
    }
    throw Invalid{"a number is too long"};
  }
  BytesView text() { return take(varint()); }
};

Bytes nibbles(BytesView bytes) {
  Bytes halves;
  for (const char c : bytes) {
    halves.push_back(static_cast<char>(static_cast<uint8_t>(c) >> 4));
    halves.push_back(static_cast<char>(c & 15));
  }
  return halves;
}

// --- following

enum Kind : uint8_t { search = 1, bucket_root = 2, bucket_inner = 3, trie_leaf = 4, trie_extension = 5, trie_branch = 6 };

class Proof {
 public:
  Proof(BytesView root, BytesView key, BytesView proof) : key_(key), way_(nibbles(key)), proof_{proof}, expected_(root) {}

  std::optional<Bytes> answer() {
    check(proof_.take(4) == BytesView("PMP\1", 4), "it is of no known format");
    while (!answered_) {
      const BytesView bytes = proof_.text();
      check(!bytes.empty(), "a step is empty");
      const BytesView section = bytes[0] == search ? proof_.text() : BytesView();
      check(sha256(bytes) == expected_, "a step has another hash than the one above says");
      Reader node{bytes};
      const uint8_t kind = node.byte();
      check(kind >= search && kind <= trie_branch, "a step is of no known kind");
      const Family family = kind >= trie_leaf ? trie : kind != search || family_ == buckets ? buckets : ordered;
      check(family_ == none || family_ == family, "its steps are of different structures");
      if (kind == search) follow_search(node, section);
      else if (kind == bucket_root) follow_bucket_root(node);
      else if (kind == bucket_inner) follow_bucket_inner(node);
      else if (kind == trie_branch) follow_branch(node);
      else follow_path(node, kind);
      family_ = family;
    }
    check(proof_.left.empty(), "it goes on behind its end");
    return value_;
  }

 private:
  enum Family { none, ordered, buckets, trie };

  void go_on(BytesView hash) { expected_ = hash; }
  void end(std::optional<Bytes> value = std::nullopt) {
    answered_ = true;
    value_ = std::move(value);
  }

  void follow_search(Reader node, BytesView section) {
    const int level = node.byte();
    if (family_ == buckets) check(span_ == 0 && level == 0, "a bucket is not where it belongs");
    check(level_ < 0 || level + 1 == level_, "a node is of another level");
    level_ = level;
    BytesView digest;
    while (!node.left.empty() && digest.empty()) {
      const BytesView last = node.text(), hash = node.take(hash_bytes);
      if (last >= key_) digest = hash;
    }
    if (digest.empty()) {
      check(section.empty(), "a section is of no use");
      return end();
    }
    check(sha256(section) == digest, "a section has another hash");
    for (Reader entries{section}; !entries.left.empty();) {
      const BytesView key = entries.text(), value = entries.text();
      if (key < key_) continue;
      if (level > 0) return go_on(Reader{value}.take(hash_bytes));
      return key == key_ ? end(Bytes(value)) : end();
    }
    throw Invalid{"a section ends before its last key"};
  }

  void follow_bucket_root(Reader node) {
    check(family_ == none, "its steps are in no order");
    const uint64_t count = node.varint();
    fan_out_ = node.varint();
    check(count > 0 && count <= UINT32_MAX && fan_out_ >= 2 && fan_out_ <= UINT32_MAX && node.left.size() == hash_bytes, "the root of the buckets is damaged");
    const Bytes hash = sha256(key_);
    for (size_t i = 0; i < 8; ++i) bucket_ = bucket_ << 8 | static_cast<uint8_t>(hash[i]);
    bucket_ %= count;
    span_ = count == 1 ? 0 : 1;
    while (span_ != 0 && span_ < (count + fan_out_ - 1) / fan_out_) span_ *= fan_out_;
    go_on(node.take(hash_bytes));
  }

  void follow_bucket_inner(Reader node) {
    check(family_ == buckets && span_ > 0, "a node of the buckets is damaged");
    node.take(hash_bytes * (bucket_ / span_ % fan_out_));
    go_on(node.take(hash_bytes));
    span_ /= fan_out_;
  }

  void follow_branch(Reader node) {
    const unsigned present = node.byte() | static_cast<unsigned>(node.byte()) << 8, has_value = node.byte();
    check(has_value <= 1, "a node of the trie is damaged");
    std::array<BytesView, 16> children;
    for (size_t i = 0; i < children.size(); ++i) {
      if ((present >> i & 1) != 0) children[i] = node.take(hash_bytes);
    }
    check(has_value != 0 || node.left.empty(), "a node of the trie is damaged");
    if (way_.empty()) return has_value != 0 ? end(Bytes(node.left)) : end();
    const BytesView child = children[static_cast<size_t>(way_[0])];
    way_.erase(0, 1);
    return child.empty() ? end() : go_on(child);
  }

  void follow_path(Reader node, uint8_t kind) {
    const uint64_t count = node.varint();
    check(count <= 2 * node.left.size(), "it is cut short");
    Bytes path = nibbles(node.take((count + 1) / 2));
    check(path.size() == count || path.back() == 0, "a path is damaged");
    path.resize(count);
    if (kind == trie_extension) check(count > 0 && node.left.size() == hash_bytes, "a node of the trie is damaged");
    const bool matches = way_.starts_with(path);
    way_.erase(0, count);
    if (kind == trie_extension && matches) return go_on(node.left);
    return matches && way_.empty() ? end(Bytes(node.left)) : end();
  }

  BytesView key_;
  Bytes way_;  // what is left of the key, half bytes
  Reader proof_;
  Bytes expected_;
  Family family_ = none;
  int level_ = -1;
  uint64_t bucket_ = 0, span_ = 0, fan_out_ = 2;
  bool answered_ = false;
  std::optional<Bytes> value_;
};

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  if (text == "-") return bytes;
  check(text.size() % 2 == 0 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos, "hexadecimal digits are wanted");
  for (size_t i = 0; i < text.size(); i += 2) bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

int cannot_read(const std::string& file) {
  std::cerr << file << " cannot be read\n";
  return 2;
}

// 0, or 1 where the proof does not hold.
int answer(const std::string& root, const std::string& key, const Bytes& proof) {
  try {
    const Bytes root_bytes = from_hex(root), key_bytes = from_hex(key);
    const auto value = Proof(root_bytes, key_bytes, proof).answer();
    std::cout << (value ? "present " : "absent");
    for (const char c : value.value_or("")) std::cout << "0123456789abcdef"[static_cast<uint8_t>(c) >> 4] << "0123456789abcdef"[c & 15];
    std::cout << "\n";
    return 0;
  } catch (const Invalid& invalid) {
    std::cout << "The proof does not hold: " << invalid.why << "\n";
    return 1;
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> args(arguments, arguments + count);
  if (args.size() == 3 && args[1] == "--many") {
    std::ifstream file(args[2]);
    if (!file) return cannot_read(args[2]);
    for (std::string root, key, proof; file >> root >> key >> proof;) answer(root, key, from_hex(proof));
    return 0;
  }
  if (args.size() != 4) {
    std::cerr << "usage: verify_proof ROOT KEY PROOF\n";
    return 2;
  }
  std::ifstream file(args[3], std::ios::binary);
  std::istream& in = args[3] == "-" ? std::cin : file;
  if (!in) return cannot_read(args[3]);
  return answer(args[1], args[2], Bytes(std::istreambuf_iterator<char>(in), {}));
}
