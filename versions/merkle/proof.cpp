#include "versions/merkle/proof.h"

#include "base/varint.h"
#include "versions/merkle/bucket_tree.h"
#include "versions/merkle/trie_node.h"

namespace versions::merkle {
namespace {

constexpr BytesView magic("PMP\1", 4);

struct Step {
  BytesView bytes;  // the bytes of a node, or of a directory
  BytesView section;
  Hash hash{}, digest{};
};

struct Invalid {
  const char* why;
};

BytesView take_bytes(BytesView& rest) {
  const auto length = base::take_varint(rest);
  if (!length || *length > rest.size()) throw Invalid{"it is cut short"};
  const BytesView bytes = rest.substr(0, *length);
  rest.remove_prefix(*length);
  return bytes;
}

Hash next_hash(BytesView& rest) {
  const auto hash = take_hash(rest);
  if (!hash) throw Invalid{"a hash is cut short"};
  return *hash;
}

// Reads the steps, and computes their hashes side by side.
std::vector<Step> read_steps(BytesView proof) {
  if (!proof.starts_with(magic)) throw Invalid{"it is of no known format"};
  proof.remove_prefix(magic.size());
  std::vector<Step> steps;
  while (!proof.empty()) {
    Step step;
    step.bytes = take_bytes(proof);
    if (step.bytes.empty()) throw Invalid{"a step is empty"};
    if (step.bytes[0] == static_cast<char>(NodeKind::search)) step.section = take_bytes(proof);
    steps.push_back(step);
  }
  std::vector<Message> messages;
  for (Step& step : steps) {
    messages.push_back({step.bytes, &step.hash});
    if (!step.section.empty()) messages.push_back({step.section, &step.digest});
  }
  sha256_many(messages);
  return steps;
}

// A step says where the way goes on, or it has the answer.
struct Way {
  std::optional<Hash> next;
  std::optional<Bytes> value;  // if there is no next step
};

class Verifier {
 public:
  Verifier(BytesView key) : key_(key), position_(key) {}

  Way follow(const Step& step) {
    switch (static_cast<NodeKind>(step.bytes[0])) {
      case NodeKind::search: return search(step);
      case NodeKind::bucket_root: return bucket_root(step);
      case NodeKind::bucket_inner: return bucket_inner(step);
      case NodeKind::trie_leaf:
      case NodeKind::trie_extension:
      case NodeKind::trie_branch: return trie(step);
    }
    throw Invalid{"a step is of no known kind"};
  }

 private:
  enum class Family { unknown, search, buckets, trie };
  void be_in(Family family) {
    if (family_ != Family::unknown && family_ != family) throw Invalid{"its steps are of different structures"};
    family_ = family;
  }

  Way search(const Step& step) {
    BytesView rest = step.bytes.substr(1);
    if (rest.empty()) throw Invalid{"a directory is cut short"};
    const unsigned level = static_cast<uint8_t>(rest[0]);
    rest.remove_prefix(1);
    if (family_ == Family::buckets) {
      if (path_.place() || level != 0) throw Invalid{"a bucket is not where it belongs"};
    } else {
      be_in(Family::search);
      if (level_ && level + 1 != *level_) throw Invalid{"a node is of another level"};
    }
    level_ = level;
    std::optional<Hash> digest;
    while (!rest.empty() && !digest) {
      const BytesView last = take_bytes(rest);
      const Hash hash = next_hash(rest);
      if (last >= key_) digest = hash;
    }
    if (!digest) {
      if (!step.section.empty()) throw Invalid{"a section is of no use"};
      return {};
    }
    if (*digest != step.digest) throw Invalid{"a section has another hash"};
    for (BytesView entries = step.section; !entries.empty();) {
      const BytesView key = take_bytes(entries), value = take_bytes(entries);
      if (key < key_) continue;
      if (level > 0) {
        BytesView hash = value;
        return {next_hash(hash), {}};
      }
      if (key != key_) return {};
      return {{}, Bytes(value)};
    }
    throw Invalid{"a section ends before its last key"};
  }

  Way bucket_root(const Step& step) {
    be_in(Family::buckets);
    if (path_.place()) throw Invalid{"its steps are in no order"};
    const auto root = read_bucket_root(step.bytes);
    if (!root || started_) throw Invalid{"the root of the buckets is damaged"};
    started_ = true;
    path_ = BucketPath(*root, bucket_of(key_, root->buckets));
    return {root->top, {}};
  }

  Way bucket_inner(const Step& step) {
    be_in(Family::buckets);
    const auto place = path_.place();
    if (!place || step.bytes.size() < 1 + (*place + 1) * sizeof(Hash)) throw Invalid{"a node of the buckets is damaged"};
    path_.down();
    BytesView rest = step.bytes.substr(1 + *place * sizeof(Hash));
    return {next_hash(rest), {}};
  }

  Way trie(const Step& step) {
    be_in(Family::trie);
    const auto node = read_trie_node(step.bytes);
    if (!node) throw Invalid{"a node of the trie is damaged"};
    if (position_.left() < node->path.size() || position_.take(node->path.size()) != node->path) return {};
    switch (node->kind) {
      case NodeKind::trie_extension: return {node->children.at(0).second, {}};
      case NodeKind::trie_leaf:
        if (position_.left() > 0) return {};
        return {{}, Bytes(*node->value)};
      default: break;
    }
    if (position_.left() == 0) return {{}, node->value ? std::optional<Bytes>(*node->value) : std::nullopt};
    const char nibble = position_.take(1)[0];
    for (const auto& [place, hash] : node->children) {
      if (place == nibble) return {hash, {}};
    }
    return {};
  }

  BytesView key_;
  Family family_ = Family::unknown;
  std::optional<unsigned> level_;
  bool started_ = false;
  BucketPath path_;
  Nibbles position_;
};

}  // namespace

ProofWriter::ProofWriter() : out_(magic) {}

void ProofWriter::add(const Node& node) {
  base::append_varint(out_, node.bytes().size());
  out_.append(node.bytes());
}

void ProofWriter::add(const Node& search, size_t entry) {
  Bytes directory;
  search.append_directory(directory);
  base::append_varint(out_, directory.size());
  out_.append(directory);
  const BytesView section = entry < search.size() ? search.section_bytes(search.section_of(entry)) : BytesView();
  base::append_varint(out_, section.size());
  out_.append(section);
}

base::Result<std::optional<Bytes>> verify(const Hash& root, BytesView key, BytesView proof) {
  const auto invalid = [](const char* why) {
    return base::Failure{base::ErrorCode::bad_value, std::string("The proof does not hold: ") + why};
  };
  try {
    const std::vector<Step> steps = read_steps(proof);
    Verifier verifier(key);
    Hash expected = root;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].hash != expected) return invalid("a step has another hash than the one above says");
      Way way = verifier.follow(steps[i]);
      if (way.next) {
        expected = *way.next;
        continue;
      }
      if (i + 1 != steps.size()) return invalid("it goes on behind its end");
      return std::move(way.value);
    }
    return invalid("it is cut short");
  } catch (const Invalid& what) {
    return invalid(what.why);
  }
}

}  // namespace versions::merkle
