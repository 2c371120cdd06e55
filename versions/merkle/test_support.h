// Tests of hash trees share this: all structures, contents as maps, and their changes.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "base/random.h"
#include "versions/merkle/index.h"

namespace versions::merkle::test {

using Contents = std::map<Bytes, Bytes>;

struct Named {
  const char* name;
  IndexOptions options;
  bool invariant = true;  // equal contents have equal roots
};

inline const Named all_indexes[] = {
    {"POS-Tree", {}},
    {"POS-Tree of small nodes", {.node_bytes = 128}},
    {"POS-Tree by byte window", {.boundary = Boundary::byte_window}},
    {"POS-Tree by byte window of small nodes", {.boundary = Boundary::byte_window, .node_bytes = 128}},
    {"Merkle Patricia Trie", {.structure = Structure::patricia_trie}},
    {"Merkle Bucket Tree", {.structure = Structure::bucket_tree, .buckets = 100, .fan_out = 4}},
    {"Merkle Bucket Tree of one bucket", {.structure = Structure::bucket_tree, .buckets = 1, .fan_out = 2}},
    {"MVMB+-Tree", {.structure = Structure::mvmb_tree}, false},
    {"MVMB+-Tree of small nodes", {.structure = Structure::mvmb_tree, .node_bytes = 128}, false},
};

inline std::vector<Change> as_changes(const Contents& contents) {
  std::vector<Change> changes;
  for (const auto& [key, value] : contents) changes.push_back({key, value});
  return changes;
}

// Short keys, some of which are prefixes of others; values of any length, half of them of the same length.
inline Bytes random_key(base::Random& random, uint64_t keys) {
  const uint64_t number = random.below(keys);
  Bytes key = "k" + std::to_string(number * number % 1000003);
  if (number % 7 == 0) key.resize(1 + number % 4);
  if (number == 5) key.clear();
  return key;
}
inline Bytes random_value(base::Random& random) {
  Bytes value(random.below(2) == 0 ? 20 : random.below(4) == 0 ? random.below(300) : random.below(40), 'v');
  for (char& c : value) c = static_cast<char>(random());
  return value;
}

inline Contents random_contents(base::Random& random, uint64_t keys, size_t count) {
  Contents contents;
  while (contents.size() < count) contents[random_key(random, keys)] = random_value(random);
  return contents;
}

// An Example is an index of some contents.
struct Example {
  Example(const Named& named, uint64_t seed, uint64_t keys, size_t records)
      : random(seed),
        index(make_index(named.options)),
        contents(random_contents(random, keys, records)),
        root(index->build(nodes, as_changes(contents))) {}

  base::Random random;
  std::unique_ptr<Index> index;
  MemoryNodes nodes;
  const Contents contents;
  const Hash root;
};

// Changes of the contents, in order, with removals of keys that are there and keys that aren't.
using Edit = std::map<Bytes, std::optional<Bytes>>;
inline Edit random_edit(base::Random& random, uint64_t keys, size_t count) {
  Edit edit;
  for (size_t i = 0; i < count; ++i) {
    const bool removes = random.below(3) == 0;
    edit[random_key(random, keys)] = removes ? std::optional<Bytes>() : random_value(random);
  }
  return edit;
}
inline void apply(Contents& contents, const Edit& edit) {
  for (const auto& [key, value] : edit) {
    if (value)
      contents[key] = *value;
    else
      contents.erase(key);
  }
}
inline Hash apply(const Index& index, Nodes& nodes, const Hash& root, const Edit& edit) {
  std::vector<Change> changes;
  for (const auto& [key, value] : edit) changes.push_back({key, value});
  return index.update(nodes, root, changes);
}

inline Contents read(const Index& index, Nodes& nodes, const Hash& root) {
  Contents contents;
  index.scan(nodes, root, std::nullopt, [&](BytesView key, BytesView value) {
    CHECK(contents.emplace(key, value).second);
    return true;
  });
  return contents;
}

inline std::set<Hash> nodes_of(Nodes& nodes, const Hash& root) {
  std::set<Hash> all;
  for_each_node(nodes, root, [&](const Node& node) { return all.insert(node.hash()).second; });
  return all;
}

}  // namespace versions::merkle::test
