// These tests use nodes whose names fit their bytes, but that no index wrote: somebody else could send such.
#include "base/varint.h"
#include "versions/merkle/proof.h"
#include "versions/merkle/test_support.h"

using namespace versions::merkle;
using namespace versions::merkle::test;

namespace {

const auto damage = Catch::Matchers::Predicate<base::OperationError>(
    [](const base::OperationError& error) { return error.code() == base::ErrorCode::data_corruption_detected; });

Hash put(Nodes& nodes, BytesView bytes) {
  return nodes.put(Node::decode(bytes).or_throw());
}

Bytes search_bytes(unsigned level, const std::vector<std::pair<Bytes, Bytes>>& entries) {
  Bytes bytes{static_cast<char>(NodeKind::search), static_cast<char>(level)};
  for (const auto& [key, value] : entries) {
    base::append_varint(bytes, key.size());
    bytes.append(key);
    base::append_varint(bytes, value.size());
    bytes.append(value);
  }
  return bytes;
}
Bytes named(const Hash& hash) {
  return Bytes(view(hash));
}

// Every operation that looks at all nodes is refused.
void check_refused(const Index& index, Nodes& nodes, const Hash& root, const Hash& other) {
  CHECK_THROWS_MATCHES(index.scan(nodes, root, std::nullopt, [](BytesView, BytesView) { return true; }), base::OperationError,
                       damage);
  CHECK_THROWS_MATCHES(index.diff(nodes, root, other, [](const Difference&) { return true; }), base::OperationError, damage);
  CHECK_THROWS_MATCHES(index.diff(nodes, other, root, [](const Difference&) { return true; }), base::OperationError, damage);
}

}  // namespace

TEST_CASE("bytes of no kind of node are none") {
  for (const char kind : {0, 7, 127, -1}) CHECK_FALSE(Node::decode(Bytes(1, kind) + "more").ok());
}

TEST_CASE("an ordered tree with an empty node, or one of another level, below another is refused") {
  for (const IndexOptions& options : {IndexOptions{}, IndexOptions{.structure = Structure::mvmb_tree}}) {
    const auto index = make_index(options);
    MemoryNodes nodes;
    const Hash empty = index->empty(nodes), leaf = index->put(nodes, empty, "m", "value");
    const Hash inner = put(nodes, search_bytes(1, {{"m", named(leaf)}}));
    const Hash roots[] = {
        put(nodes, search_bytes(1, {{"k", named(empty)}, {"m", named(leaf)}})),
        put(nodes, search_bytes(2, {{"k", named(leaf)}, {"m", named(inner)}})),
        put(nodes, search_bytes(1, {{"k", named(inner)}, {"m", named(leaf)}})),
    };
    for (const Hash& root : roots) {
      check_refused(*index, nodes, root, leaf);
      CHECK_THROWS_MATCHES(index->find(nodes, root, "a"), base::OperationError, damage);
      CHECK_THROWS_MATCHES(index->prove(nodes, root, "a"), base::OperationError, damage);
      CHECK_THROWS_MATCHES(index->put(nodes, root, "a", "b"), base::OperationError, damage);
    }
  }
}

TEST_CASE("buckets that are deeper than their number says are refused, however deep") {
  const auto index = make_index({.structure = Structure::bucket_tree, .buckets = 4, .fan_out = 2});
  MemoryNodes nodes;
  const auto deep = [&](BytesView value) {
    Hash top = put(nodes, search_bytes(0, {{"a", Bytes(value)}}));
    for (int level = 0; level < 200'000; ++level)
      top = put(nodes, Bytes(1, static_cast<char>(NodeKind::bucket_inner)) + named(top) + named(top));
    return put(nodes, Bytes{static_cast<char>(NodeKind::bucket_root), 4, 2} + named(top));
  };
  check_refused(*index, nodes, deep("1"), deep("2"));
}

TEST_CASE("a trie that is deeper than keys are long is refused, however deep, and so is a value in the middle of a byte") {
  const auto index = make_index({.structure = Structure::patricia_trie});
  MemoryNodes nodes;
  const Bytes branch{static_cast<char>(NodeKind::trie_branch), 1, 0, 0},
      branch_with_value{static_cast<char>(NodeKind::trie_branch), 1, 0, 1};
  const Bytes leaf{static_cast<char>(NodeKind::trie_leaf), 0, 'v'};
  const auto deep = [&](int depth, BytesView value) {
    Hash top = put(nodes, leaf + Bytes(value));
    for (int level = 0; level < depth; ++level) top = put(nodes, branch + named(top));
    return top;
  };
  check_refused(*index, nodes, deep(200'000, "1"), deep(200'000, "2"));
  check_refused(*index, nodes, deep(3, "1"), index->empty(nodes));
}

TEST_CASE("a trie takes keys of 1,024 bytes, each the beginning of the next, and none that are longer") {
  const auto index = make_index({.structure = Structure::patricia_trie});
  MemoryNodes nodes;
  Contents contents, changed;
  for (size_t length = 0; length <= 1024; ++length) {
    contents[Bytes(length, 'k')] = changed[Bytes(length, 'k')] = "value";
    if (length > 0) contents[Bytes(length - 1, 'k') + '`'] = changed[Bytes(length - 1, 'k') + '`'] = "beside";
  }
  changed[Bytes(1024, 'k')] = "other";
  const Hash root = index->build(nodes, as_changes(contents)), other = index->build(nodes, as_changes(changed));
  CHECK(read(*index, nodes, root) == contents);
  size_t differences = 0;
  index->diff(nodes, root, other, [&](const Difference& difference) { return ++differences, difference.key.size() == 1024; });
  CHECK(differences == 1);
  CHECK_THROWS_AS(index->put(nodes, root, Bytes(1025, 'k'), "value"), base::OperationError);
  CHECK_FALSE(index->find(nodes, root, Bytes(1025, 'k')));
}

TEST_CASE("nothing is proven of another structure's tree") {
  MemoryNodes nodes;
  std::vector<std::pair<Structure, Hash>> roots;
  for (const Structure structure : {Structure::pos_tree, Structure::patricia_trie, Structure::bucket_tree})
    roots.emplace_back(structure, make_index({.structure = structure})->build(nodes, as_changes({{"a", "1"}, {"b", "2"}})));
  for (const auto& [structure, own] : roots) {
    for (const auto& [other, root] : roots) {
      if (other != structure)
        CHECK_THROWS_AS(make_index({.structure = structure})->prove(nodes, root, "a"), base::OperationError);
    }
  }
}

TEST_CASE("a key of no bytes at no address is a key") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    const auto index = make_index(named.options);
    MemoryNodes nodes;
    const Hash root = index->put(nodes, index->empty(nodes), BytesView(), BytesView());
    CHECK(index->find(nodes, root, BytesView()));
    CHECK(verify(root, BytesView(), index->prove(nodes, root, BytesView())).or_throw() == Bytes());
  }
}
