// Takes any bytes as a node of a hash tree, and as the row that it is kept in. They are refused, or are a node that a builder
// rebuilds, entry by entry, under the same name, and whose children and entries can be walked. A trie's node is written back as
// it was.
#include "base/fuzz_target.h"
#include "versions/merkle/bucket_tree.h"
#include "versions/merkle/index.h"
#include "versions/merkle/trie_node.h"

namespace {

using namespace versions::merkle;

void check_search_node(const Node& node) {
  NodeBuilder builder(node.level());
  for (size_t i = 0; i < node.size(); ++i) {
    builder.add(node.key(i), node.value(i));
    base::check(node.section_of(i) < node.sections() && !node.section_bytes(node.section_of(i)).empty());
  }
  base::check(builder.finish_sealed()->hash() == node.hash(), "a rebuilt node has its name");
  Bytes directory;
  node.append_directory(directory);
  base::check(sha256(directory) == node.hash(), "a node is called by the hash of its directory");
  if (node.size() > 0) node.lower_bound(node.key(node.size() / 2));
}

bool run(BytesView input) {
  TableNodes::base_of(input);
  const auto decoded = Node::decode(input);
  if (!decoded.ok()) return false;
  const Node& node = *decoded.value();
  base::check(node.bytes() == input);
  if (node.kind() == NodeKind::search) check_search_node(node);
  base::refuses([&] { children_of(node); });
  base::refuses([&] { content_of(node, {}); });
  base::refuses([&] { content_of(node, "\1"); });
  base::refuses([&] { bucket_children_of(node); });
  if (const auto root = read_bucket_root(input)) {
    for (BucketPath path(*root, bucket_of("key", root->buckets)); path.place(); path.down())
      base::check(*path.place() < root->fan_out);
  }
  if (const auto trie = read_trie_node(input))
    base::check(write_trie_node(*trie).size() <= input.size());  // a length may have been longer than needed
  return true;
}

Bytes leaf(size_t entries) {
  NodeBuilder builder(0);
  for (size_t i = 0; i < entries; ++i)
    builder.add("key " + std::to_string(100 + i), "the value of this key, " + std::to_string(i));
  return Bytes(builder.finish_sealed()->bytes());
}

std::vector<Bytes> seeds() {
  NodeBuilder inner(1);
  const Hash one = sha256("one"), two = sha256("two");
  inner.add("a", view(one));
  inner.add("b", view(two));
  const auto trie = [&](TrieNode node) { return write_trie_node(node); };
  const Bytes bucket_inner = Bytes(1, static_cast<char>(NodeKind::bucket_inner)).append(view(one)).append(view(two));
  MemoryNodes nodes;
  const auto index = make_index({.structure = Structure::bucket_tree, .buckets = 9, .fan_out = 2});
  const Bytes bucket_root(nodes.get(index->empty(nodes))->bytes());
  return {leaf(0),
          leaf(20),
          Bytes(inner.finish_sealed()->bytes()),
          bucket_inner,
          bucket_root,
          trie({.kind = NodeKind::trie_leaf, .path = path_of("ab"), .children = {}, .value = "value"}),
          trie({.kind = NodeKind::trie_extension, .path = Path("\1\2\3", 3), .children = {{0, one}}, .value = {}}),
          trie({.kind = NodeKind::trie_branch, .path = {}, .children = {{3, one}, {9, two}}, .value = "v"})};
}

const base::FuzzTarget target("node", run, seeds);

}  // namespace
