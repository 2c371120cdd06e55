// Checks a proof that a key has a value below a root, or isn't there; or that a document was in a commit, or wasn't. Needs
// nothing but a C++20 compiler:
//
//   c++ -std=c++20 -O2 -o verify_proof verify_proof.cpp
//   verify_proof --commit ID PROOF [DOCUMENT]
//   verify_proof ROOT KEY PROOF
//
// The first is for the `proof` of what getProof answers, as a file: ID is the commit's id, 64 hexadecimal digits, from whoever is
// trusted. Prints what the commit says: `present` or `absent`, the collection's UUID, the _id (as JSON, or the bytes that it is
// identified by), the document's SHA-256 and whether the document is in the file; DOCUMENT is where it is written to, as BSON.
// Look whether that is the _id that was asked for.
//
// ROOT and KEY in hexadecimal, PROOF a file (-: standard input). Prints `present` and the value in hexadecimal, or `absent`, and
// exits with 0; prints why the proof does not hold, and exits with 1; where there is nothing to check, with 2. With `--many FILE`
// it answers a line for each line `ROOT KEY PROOF` of the file, all in hexadecimal (- for nothing). Format:
// docs/formats/merkle.md.
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
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

uint32_t rotated(uint32_t value, int bits) {
  return value >> bits | value << (32 - bits);
}

void take_block(std::array<uint32_t, 8>& state, const uint8_t* block) {
  static constexpr uint32_t constants[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
      0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
      0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
      0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
      0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
      0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t{block[4 * i]} << 24 | block[4 * i + 1] << 16 | block[4 * i + 2] << 8 | block[4 * i + 3];
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
      if (kind == search)
        follow_search(node, section);
      else if (kind == bucket_root)
        follow_bucket_root(node);
      else if (kind == bucket_inner)
        follow_bucket_inner(node);
      else if (kind == trie_branch)
        follow_branch(node);
      else
        follow_path(node, kind);
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
    check(count > 0 && count <= UINT32_MAX && fan_out_ >= 2 && fan_out_ <= UINT32_MAX && node.left.size() == hash_bytes,
          "the root of the buckets is damaged");
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

// --- commits

struct CommitProof {
  BytesView label, key;
  std::optional<Bytes> hash;
  std::optional<BytesView> document;
};

// The root that the commit says of the collection; nullopt: it has no such collection.
std::optional<BytesView> root_of(BytesView commit, BytesView statement, BytesView label) {
  check(sha256(statement) == commit, "it is of another commit");
  Reader reader{statement};
  check(reader.take(17) == "palimpsest commit", "the commit is of no known format");
  check(reader.byte() == 2, "the commit's id says nothing of documents");
  for (uint64_t parents = reader.varint(); parents > 0; --parents) reader.take(hash_bytes);
  reader.text();  // metadata
  std::optional<BytesView> root;
  for (uint64_t collections = reader.varint(); collections > 0; --collections) {
    const BytesView name = reader.text(), own = reader.take(hash_bytes);
    if (name != label) continue;
    check(!root, "a collection is in the commit twice");
    root = own;
  }
  reader.take(8);  // time
  check(reader.left.empty(), "the commit goes on behind its end");
  return root;
}

CommitProof commit_proof(BytesView commit, BytesView proof) {
  Reader reader{proof};
  check(reader.take(4) == BytesView("PMC\1", 4), "it is of no known format");
  const BytesView statement = reader.text();
  CommitProof said{.label = reader.text(), .key = reader.text(), .hash = {}, .document = {}};
  const BytesView tree = reader.text();
  if (const uint64_t length = reader.varint(); length > 0) said.document = reader.take(length - 1);
  check(reader.left.empty(), "it goes on behind its end");
  if (const auto root = root_of(commit, statement, said.label)) {
    check(*root != Bytes(hash_bytes, '\0'), "the commit's id says nothing of documents");
    said.hash = Proof(*root, said.key, tree).answer();
  } else {
    check(tree.empty(), "a tree of no collection");
  }
  check(!said.hash || said.hash->size() == hash_bytes, "a leaf has no hash of a document");
  check(!said.document || (said.hash && sha256(*said.document) == *said.hash), "the document has another hash");
  return said;
}

std::string hex(BytesView bytes) {
  std::string text;
  for (const char c : bytes) {
    text += "0123456789abcdef"[static_cast<uint8_t>(c) >> 4];
    text += "0123456789abcdef"[c & 15];
  }
  return text;
}

uint64_t big_endian(BytesView bytes) {
  uint64_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

std::optional<std::string> readable_number(int kind, Bytes body) {
  const bool negative = kind < 0x3c;
  const int distance = negative ? 0x3c - kind : kind - 0x3c;
  if (negative) {
    for (char& c : body) c = static_cast<char>(~c);
  }
  uint64_t whole = 0;
  const bool is_whole = distance >= 2 && distance <= 9;
  if (is_whole) {
    const auto bytes = static_cast<size_t>(distance - 1);
    if (body.size() < bytes) return {};
    whole = big_endian(BytesView(body).substr(0, bytes));
    body.erase(0, bytes);
    if (whole % 2 == 0) return body.empty() ? std::optional((negative ? "-" : "") + std::to_string(whole / 2)) : std::nullopt;
  }
  if (body.size() != 8 || (body[7] & 1) != 0) return {};
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, std::bit_cast<double>(big_endian(body) >> 1));
  return (negative ? "-" : "") + std::string(text, end.ptr);
}

std::string quoted(BytesView body) {
  std::string text = "\"";
  for (size_t i = 0; i < body.size(); ++i) {
    const auto c = static_cast<uint8_t>(body[i] == 1 && i + 1 < body.size() ? body[++i] - 1 : body[i]);
    if (c == '"' || c == '\\') text += '\\';
    if (c < 0x20)
      text += "\\u00" + hex(Bytes(1, static_cast<char>(c)));
    else
      text += static_cast<char>(c);
  }
  return text + '"';
}

// The _id as JSON, where the key says it; docs/formats/key-string.md.
std::string readable(BytesView key) {
  const int kind = key.empty() ? 0 : static_cast<uint8_t>(key[0]);
  const BytesView body = key.substr(key.empty() ? 0 : 1);
  static const std::map<int, const char*> constants{{0x20, "null"},     {0x30, "NaN"},   {0x31, "-Infinity"}, {0x3c, "0"},
                                                    {0x47, "Infinity"}, {0x78, "false"}, {0x79, "true"}};
  if (const auto constant = constants.find(kind); constant != constants.end() && body.empty()) return constant->second;
  if (kind == 0x70 && body.size() == 12) return "ObjectId(\"" + hex(body) + "\")";
  if (kind == 0x80 && body.size() == 8)
    return "Date(" + std::to_string(static_cast<int64_t>(big_endian(body) ^ uint64_t{1} << 63)) + ")";
  if (kind == 0x50 && body.ends_with('\0')) return quoted(body.substr(0, body.size() - 1));
  if (kind >= 0x32 && kind <= 0x46) {
    if (const auto number = readable_number(kind, Bytes(body))) return *number;
  }
  return "key " + hex(key);
}

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  if (text == "-") return bytes;
  if (text.size() % 2 != 0 || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
    std::cerr << "'" << text << "' is not hexadecimal\n";
    std::exit(2);
  }
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
    std::cout << (value ? "present " + hex(*value) : "absent");
    std::cout << "\n";
    return 0;
  } catch (const Invalid& invalid) {
    std::cout << "The proof does not hold: " << invalid.why << "\n";
    return 1;
  }
}

int answer_commit(const std::string& commit, const Bytes& proof, const char* path) {
  try {
    const Bytes id = from_hex(commit);
    const CommitProof said = commit_proof(id, proof);
    std::cout << (said.hash ? "present" : "absent") << "\ncollection " << hex(said.label) << "\n_id " << readable(said.key)
              << "\n";
    if (said.hash)
      std::cout << "document " << hex(*said.hash)
                << (said.document ? " " + std::to_string(said.document->size()) + " bytes in the file\n" : " not in the file\n");
    if (path != nullptr && said.document) std::ofstream(path, std::ios::binary) << *said.document;
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
  const bool of_commit = (args.size() == 4 || args.size() == 5) && args[1] == "--commit";
  if (args.size() != 4 && !of_commit) {
    std::cerr << "usage: verify_proof --commit ID PROOF [DOCUMENT]\n       verify_proof ROOT KEY PROOF\n";
    return 2;
  }
  std::ifstream file(args[3], std::ios::binary);
  std::istream& in = args[3] == "-" ? std::cin : file;
  if (!in) return cannot_read(args[3]);
  const Bytes proof(std::istreambuf_iterator<char>(in), {});
  return of_commit ? answer_commit(args[2], proof, args.size() == 5 ? arguments[4] : nullptr) : answer(args[1], args[2], proof);
}
