// The input is a made-up proof for trees that are known: it is refused, or says what the tree itself says of the key. Where the
// tree has the answer from honest nodes alone, no bytes may prove another one.
//
//   number: which tree | part: the key | rest: the proof
#include <map>

#include "base/fuzz_target.h"
#include "versions/merkle/index.h"
#include "versions/merkle/proof.h"

namespace {

using namespace versions::merkle;

struct Tree {
  std::unique_ptr<Index> index;
  MemoryNodes nodes;
  Hash root{};
};

const std::map<Bytes, Bytes>& contents() {
  static const std::map<Bytes, Bytes> all = [] {
    std::map<Bytes, Bytes> made;
    for (int i = 0; i < 60; ++i) made["key " + std::to_string(i)] = "the value of key " + std::to_string(i);
    return made;
  }();
  return all;
}

std::vector<Tree>& trees() {
  static std::vector<Tree> all = [] {
    std::vector<Tree> made;
    for (const auto structure : {Structure::pos_tree, Structure::patricia_trie, Structure::bucket_tree}) {
      Tree& tree = made.emplace_back();
      tree.index = make_index({.structure = structure, .node_bytes = 128, .buckets = 9, .fan_out = 2});
      std::vector<Change> changes;
      for (const auto& [key, value] : contents()) changes.push_back({key, value});
      tree.root = tree.index->build(tree.nodes, changes);
    }
    return made;
  }();
  return all;
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const Tree& tree = trees()[reader.number() % trees().size()];
  const BytesView key = reader.part();
  const auto proved = verify(tree.root, key, reader.rest());
  if (!proved.ok()) return false;
  const auto found = contents().find(Bytes(key));
  base::check(proved.value().has_value() == (found != contents().end()), "a proof says whether a key is there");
  base::check(!proved.value() || *proved.value() == found->second, "a proof says which value a key has");
  return true;
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (uint64_t i = 0; i < trees().size(); ++i) {
    Tree& tree = trees()[i];
    for (const BytesView key : {BytesView("key 7"), BytesView("no key"), BytesView("key 99999")})
      all.push_back(base::FuzzWriter().number(i).part(key).rest(tree.index->prove(tree.nodes, tree.root, key)));
  }
  return all;
}

const base::FuzzTarget target("proof", run, seeds);

}  // namespace
