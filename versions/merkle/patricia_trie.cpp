#include "versions/merkle/patricia_trie.h"

#include "versions/merkle/proof.h"
#include "versions/merkle/trie_part.h"

namespace versions::merkle {
namespace {

struct PathChange {
  Path path;
  std::optional<BytesView> value;
};

BytesView rest_of(const PathChange& change, size_t depth) {
  return BytesView(change.path).substr(depth);
}

// All `changes` begin with the same `depth` half bytes, which are the part's place.
TriePart apply(Nodes& nodes, TriePart part, std::span<const PathChange> changes, size_t depth) {
  if (part.none() && changes.size() == 1) {
    if (!changes[0].value) return part;
    return TriePart::of_leaf(Path(rest_of(changes[0], depth)), *changes[0].value);
  }
  part = load(nodes, std::move(part));
  // The way that all have in common. Changes are in order, so it is what the first and the last one have in common.
  Path way = part.none() ? Path(rest_of(changes.front(), depth)) : part.path;
  way.resize(common_length(way, rest_of(changes.front(), depth)));
  way.resize(common_length(way, rest_of(changes.back(), depth)));
  TrieFork fork = fork_at(nodes, part, way.size());
  const size_t here = depth + way.size();
  for (size_t i = 0; i < changes.size();) {
    if (changes[i].path.size() == here) {
      fork.value = changes[i].value;
      ++i;
      continue;
    }
    const char nibble = changes[i].path[here];
    size_t end = i + 1;
    while (end < changes.size() && changes[end].path[here] == nibble) ++end;
    TriePart& child = fork.children[static_cast<size_t>(nibble)];
    child = apply(nodes, std::move(child), changes.subspan(i, end - i), here + 1);
    i = end;
  }
  TriePart joined = join(nodes, std::move(fork));
  if (!joined.none()) joined.path.insert(0, way);
  return joined;
}

// Nodes that were made from no keys may be longer than keys, or have a value in the middle of a byte.
void check_place(const Path& place, bool has_value) {
  if (place.size() <= 2 * trie_key_bytes_max && !(has_value && place.size() % 2 != 0)) return;
  throw base::OperationError(base::ErrorCode::data_corruption_detected, "A trie has nodes where no key leads");
}

bool visit_all(Nodes& nodes, TriePart part, Path& place, const std::optional<Path>& from, const VisitEntry& visit);

bool visit_fork(Nodes& nodes, const TrieFork& fork, Path& place, const std::optional<Path>& from, const VisitEntry& visit) {
  check_place(place, fork.value.has_value());
  if (fork.value && (!from || place >= *from) && !visit(key_of_path(place), *fork.value)) return false;
  for (size_t i = 0; i < fork.children.size(); ++i) {
    place.push_back(static_cast<char>(i));
    const bool go_on = visit_all(nodes, fork.children[i], place, from, visit);
    place.pop_back();
    if (!go_on) return false;
  }
  return true;
}

bool visit_all(Nodes& nodes, TriePart part, Path& place, const std::optional<Path>& from, const VisitEntry& visit) {
  // Everything below is before `from`.
  if (part.none() || (from && place < *from && from->compare(0, place.size(), place) != 0)) return true;
  part = load(nodes, std::move(part));
  const size_t before = place.size();
  place.append(part.path);
  const bool go_on = visit_fork(nodes, fork_at(nodes, part, part.path.size()), place, from, visit);
  place.resize(before);
  return go_on;
}

bool is_same(const TriePart& a, const TriePart& b) {
  return a.kind == TriePart::Kind::stored && b.kind == TriePart::Kind::stored && a.hash == b.hash;
}

bool diff_parts(Nodes& nodes, TriePart a, TriePart b, Path& place, const VisitDifference& visit) {
  if ((a.none() && b.none()) || is_same(a, b)) return true;
  a = load(nodes, std::move(a));
  b = load(nodes, std::move(b));
  if (a.kind == TriePart::Kind::branch && b.kind == TriePart::Kind::branch && a.path == b.path && a.hash == b.hash) return true;
  const size_t before = place.size();
  const size_t shared = a.none() ? b.path.size() : b.none() ? a.path.size() : common_length(a.path, b.path);
  place.append(a.none() ? b.path : a.path, 0, shared);
  const TrieFork left = fork_at(nodes, a, shared), right = fork_at(nodes, b, shared);
  check_place(place, left.value || right.value);
  bool go_on = true;
  if (left.value != right.value) go_on = visit({key_of_path(place), left.value, right.value});
  for (size_t i = 0; go_on && i < left.children.size(); ++i) {
    place.push_back(static_cast<char>(i));
    go_on = diff_parts(nodes, left.children[i], right.children[i], place, visit);
    place.pop_back();
  }
  place.resize(before);
  return go_on;
}

}  // namespace

Hash PatriciaTrie::empty(Nodes& nodes) const {
  return store(nodes, {});
}

Hash PatriciaTrie::update(Nodes& nodes, const Hash& root, std::span<const Change> changes) const {
  if (changes.empty()) return root;
  std::vector<PathChange> paths;
  paths.reserve(changes.size());
  for (const Change& change : changes) {
    if (change.key.size() > trie_key_bytes_max)
      throw base::OperationError(base::ErrorCode::bad_value, "keys of a trie have at most 1024 bytes");
    paths.push_back({path_of(change.key), change.value});
  }
  return store(nodes, apply(nodes, load(nodes, TriePart::of_stored(root)), paths, 0));
}

std::optional<Found> PatriciaTrie::find(Nodes& nodes, const Hash& root, BytesView key) const {
  const Path path = path_of(key);
  TriePart part = TriePart::of_stored(root);
  for (size_t at = 0;;) {
    part = load(nodes, std::move(part));
    if (part.none() || path.compare(at, part.path.size(), part.path) != 0) return std::nullopt;
    at += part.path.size();
    TrieFork fork = fork_at(nodes, part, part.path.size());
    if (at == path.size()) return fork.value ? std::optional<Found>({std::move(fork.node), *fork.value}) : std::nullopt;
    part = std::move(fork.children[static_cast<size_t>(path[at++])]);
  }
}

void PatriciaTrie::scan(Nodes& nodes, const Hash& root, std::optional<BytesView> from, const VisitEntry& visit) const {
  Path place;
  visit_all(nodes, TriePart::of_stored(root), place, from ? std::optional(path_of(*from)) : std::nullopt, visit);
}

void PatriciaTrie::diff(Nodes& nodes, const Hash& a, const Hash& b, const VisitDifference& visit) const {
  Path place;
  diff_parts(nodes, TriePart::of_stored(a), TriePart::of_stored(b), place, visit);
}

Bytes PatriciaTrie::prove(Nodes& nodes, const Hash& root, BytesView key) const {
  ProofWriter proof;
  Nibbles way(key);
  Hash hash = root;
  for (;;) {
    const NodePtr node = nodes.get(hash);
    proof.add(*node);
    const TrieNode content = trie_node_of(*node);
    if (content.kind == NodeKind::trie_leaf) break;
    if (way.left() < content.path.size() || way.take(content.path.size()) != content.path) break;
    if (content.kind == NodeKind::trie_extension) {
      hash = content.children[0].second;
      continue;
    }
    if (way.left() == 0) break;
    const char nibble = way.take(1)[0];
    const Hash* next = nullptr;
    for (const auto& child : content.children) {
      if (child.first == nibble) next = &child.second;
    }
    if (next == nullptr) break;
    hash = *next;
  }
  return proof.done();
}

}  // namespace versions::merkle
