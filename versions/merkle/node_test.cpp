#include "versions/merkle/node.h"

#include <rapidcheck.h>
#include <algorithm>
#include <map>

#include "versions/merkle/bucket_tree.h"
#include "versions/merkle/test_support.h"

using namespace versions::merkle;

namespace {

// Keys of few letters, so that many begin alike, also for more than 8 bytes; now and then a long one.
Bytes random_key(base::Random& random) {
  static constexpr char letters[] = {'\0', 'a', '\xff'};
  Bytes key(random.below(3) == 0 ? 9 : 0, 'k');
  for (size_t more = random.below(30) == 0 ? 100 + random.below(200) : random.below(5); more > 0; --more)
    key.push_back(letters[random.below(3)]);
  return key;
}

NodePtr node_of(const std::map<Bytes, Bytes>& entries) {
  NodeBuilder builder(0);
  for (const auto& [key, value] : entries) builder.add(key, value);
  return builder.finish_sealed();
}

}  // namespace

TEST_CASE("a node finds the first entry that isn't below a key") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    std::map<Bytes, Bytes> entries;
    for (uint64_t count = random.below(60); count > 0; --count) entries[random_key(random)] = Bytes(random.below(300), 'v');
    const NodePtr node = node_of(entries);
    RC_ASSERT(node->size() == entries.size());
    size_t at = 0;
    for (const auto& [key, value] : entries) {
      RC_ASSERT(node->key(at) == key);
      RC_ASSERT(node->value(at++) == value);
    }
    for (int i = 0; i < 50; ++i) {
      const Bytes key = i % 2 == 0 || entries.empty()
                            ? random_key(random)
                            : std::next(entries.begin(), static_cast<ptrdiff_t>(random.below(entries.size())))->first;
      RC_ASSERT(node->lower_bound(key) == static_cast<size_t>(std::distance(entries.begin(), entries.lower_bound(key))));
    }
  }));
}

TEST_CASE("a node with other values of the same lengths is what it is when it is made from the start") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    std::map<Bytes, Bytes> entries;
    for (uint64_t count = 1 + random.below(60); count > 0; --count) entries[random_key(random)] = Bytes(random.below(100), 'v');
    const NodePtr before = node_of(entries);
    std::vector<NodeBuilder::Replacement> replaced;
    size_t at = 0;
    for (auto& [key, value] : entries) {
      if (random.below(4) == 0) {
        for (char& c : value) c = static_cast<char>(random());
        replaced.push_back({at, value});
      }
      ++at;
    }
    const UnnamedNode after = NodeBuilder::with_values(*before, replaced);
    NodeBuilder::seal(std::span(&after, 1));
    const NodePtr expected = node_of(entries);
    RC_ASSERT(after->bytes() == expected->bytes());
    RC_ASSERT(after->hash() == expected->hash());
    for (const auto& [key, value] : entries) RC_ASSERT(after->key(after->lower_bound(key)) == key);
  }));
}

TEST_CASE("a node of a bucket tree has whole children, and one at least") {
  const auto children = [](size_t bytes) {
    return bucket_children_of(*Node::decode(Bytes(1, static_cast<char>(NodeKind::bucket_inner)) + Bytes(bytes, 'h')).or_throw());
  };
  CHECK(children(sizeof(Hash)).size() == 1);
  CHECK(children(3 * sizeof(Hash)).size() == 3);
  for (const size_t bytes : {size_t{0}, size_t{1}, sizeof(Hash) - 1, sizeof(Hash) + 1})
    CHECK_THROWS_AS(children(bytes), base::OperationError);
}

TEST_CASE("a node is refused if its offsets can't address all of its bytes") {
  CHECK_NOTHROW(check_node_bytes(node_bytes_max));
  CHECK_THROWS_AS(check_node_bytes(node_bytes_max + 1), base::OperationError);
  // Only lengths count: nothing behind the first byte is read.
  const BytesView long_value("\4", node_bytes_max + 10);
  NodeBuilder builder(0);
  CHECK_THROWS_AS(builder.add("key", long_value), base::OperationError);
  CHECK_THROWS_AS(Node::whole(long_value), base::OperationError);
  CHECK(builder.empty());
}
