#include "versions/merkle/nodes.h"

#include <atomic>
#include <thread>

#include "storage/testing/temporary_store.h"
#include "versions/merkle/test_support.h"

using namespace versions::merkle;
using namespace versions::merkle::test;

namespace {

Contents some_contents() {
  base::Random random(31);
  return random_contents(random, 100'000, 1000);
}

NodePtr leaf_of(BytesView key) {
  NodeBuilder builder(0);
  builder.add(key, "value");
  return builder.finish_sealed();
}

}  // namespace

TEST_CASE("nodes are read back from their bytes, and a flipped bit shows in their hash") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    const auto index = make_index(named.options);
    MemoryNodes nodes;
    const Hash root = index->build(nodes, as_changes(some_contents()));
    size_t unnoticed = 0, read_back = 0;
    base::Random random(32);
    for (const Hash& hash : nodes_of(nodes, root)) {
      const NodePtr node = nodes.get(hash);
      const auto again = Node::decode(node->bytes());
      read_back += again.ok() && again.value()->hash() == hash;
      Bytes damaged(node->bytes());
      damaged[random.below(damaged.size())] ^= static_cast<char>(1 << random.below(8));
      const auto decoded = Node::decode(damaged);
      unnoticed += decoded.ok() && decoded.value()->hash() == hash;
      (void)Node::decode(damaged.substr(0, random.below(damaged.size())));
    }
    CHECK(read_back == nodes_of(nodes, root).size());
    CHECK(unnoticed == 0);
  }
}

TEST_CASE("sections that a new node takes over keep their digests") {
  base::Random random(33);
  NodeBuilder builder(0);
  for (int i = 100; i < 160; ++i) builder.add("key" + std::to_string(i), random_value(random));
  std::vector<UnnamedNode> nodes{builder.finish()};
  NodeBuilder::seal(nodes);
  const Node& old = *nodes[0];
  for (size_t changed = 0; changed < old.size(); ++changed) {
    NodeBuilder taken(0), anew(0);
    for (size_t i = 0; i < old.size(); ++i) {
      if (i == changed) {
        taken.add(old.key(i), "other");
        anew.add(old.key(i), "other");
      } else {
        taken.add(old, i);
        anew.add(old.key(i), old.value(i));
      }
    }
    std::vector<UnnamedNode> both{taken.finish(), anew.finish()};
    NodeBuilder::seal(both);
    CHECK(both[0]->hash() == both[1]->hash());
  }
}

TEST_CASE("a table of nodes finds what was put in") {
  NodeTable table;
  std::vector<NodePtr> nodes;
  for (int i = 0; i < 3000; ++i) nodes.push_back(leaf_of(std::to_string(i)));
  for (const NodePtr& node : nodes) CHECK(table.insert(node).second);
  CHECK_FALSE(table.insert(nodes[7]).second);
  CHECK(table.size() == nodes.size());
  for (const NodePtr& node : nodes) CHECK(table.find(node->hash()) != nullptr);
  CHECK(table.find(leaf_of("3000")->hash()) == nullptr);
}

TEST_CASE("a way that was gone once is gone by links") {
  MemoryNodes nodes;
  const auto index = make_index({});
  const Contents contents = some_contents();
  const Hash root_hash = index->build(nodes, as_changes(contents));
  for (const auto& [key, value] : contents) CHECK(index->find(nodes, root_hash, key)->value == value);
  const NodePtr root = nodes.get(root_hash);
  REQUIRE(root->level() > 1);
  for (size_t i = 0; i < root->size(); ++i) {
    const Node* const child = root->linked(i);
    REQUIRE(child != nullptr);
    CHECK(child == nodes.get(root->child(i)).get());
  }
}

TEST_CASE("what an update is about to go to is linked before it goes there") {
  const auto index = make_index({});
  const Contents contents = some_contents();
  MemoryNodes nodes;
  const Hash root_hash = index->build(nodes, as_changes(contents));
  const NodePtr root = nodes.get(root_hash);
  REQUIRE(root->level() > 1);
  REQUIRE(root->size() > 2);
  const uint64_t before = nodes.visits();
  const std::vector<size_t> entries{1, root->size() - 1};
  nodes.expect(*root, entries);
  CHECK(nodes.visits() == before);
  for (size_t i = 0; i < root->size(); ++i) CHECK((root->linked(i) != nullptr) == (i == entries[0] || i == entries[1]));
  CHECK(root->linked(1) == nodes.get(root->child(1)).get());
}

TEST_CASE("an update announces most nodes that it reads, and reads all that it announces") {
  class Noting : public MemoryNodes {
   public:
    std::vector<std::pair<NodePtr, size_t>> expected;
    void expect(const Node& parent, std::span<const size_t> entries) override {
      for (const size_t entry : entries) expected.emplace_back(NodePtr(&parent), entry);
    }
    void expect(std::span<const UnnamedNode>) override {}
  };
  const auto index = make_index({});
  Contents contents = some_contents();
  Noting nodes;
  const Hash root = index->build(nodes, as_changes(contents));
  const size_t all = nodes_of(nodes, root).size();
  nodes.expected.clear();
  for (auto& [key, value] : contents) value = "another";
  index->update(nodes, root, as_changes(contents));
  CHECK(nodes.expected.size() > all / 2);
  for (const auto& [parent, entry] : nodes.expected) CHECK(parent->linked(entry) != nullptr);
}

TEST_CASE("an inner node is linked within one store, whoever else has it") {
  const auto index = make_index({});
  const Contents contents = some_contents();
  MemoryNodes last;
  Hash root{};
  {
    MemoryNodes first;
    root = index->build(first, as_changes(contents));
    for (const Hash& hash : nodes_of(first, root)) last.put(first.get(hash));
    CHECK(read(*index, first, root) == contents);
    CHECK(first.get(root)->linked(0) != nullptr);
    CHECK(last.get(root)->linked(0) == nullptr);
  }
  CHECK(read(*index, last, root) == contents);
  CHECK(last.get(root)->linked(0) == last.get(last.get(root)->child(0)).get());
}

TEST_CASE("a cache of nodes stays within its bytes and keeps what is asked for") {
  NodeCache cache(100'000);
  const NodePtr hot = leaf_of("hot");
  cache.put(hot);
  for (int i = 0; i < 5000; ++i) {
    cache.put(leaf_of(std::to_string(i)));
    CHECK(cache.bytes() <= 100'000);
    CHECK(cache.get(hot->hash()));
  }
  CHECK_FALSE(cache.get(leaf_of("0")->hash()));
}

namespace {

size_t linked_bytes(const Node& node) {
  size_t bytes = node.memory_bytes();
  for (size_t i = 0; node.level() > 0 && i < node.size(); ++i) {
    if (const Node* const child = node.linked(i)) bytes += linked_bytes(*child);
  }
  return bytes;
}

}  // namespace

TEST_CASE("a tree larger than the cache is read by several threads, and to hold its root isn't to hold all of it") {
  const storage::TemporaryDirectory directory;
  storage::Engine engine(storage::test_options(directory.path()));
  const storage::Table table = engine.open_table("versions-1-nodes");
  constexpr size_t bytes_max = 100'000;
  NodeCache cache(bytes_max);
  const auto index = make_index({});
  base::Random random(35);
  const Contents contents = random_contents(random, 100'000, 5000);
  Hash root{};
  storage::in_transaction(engine, [&](storage::Transaction& transaction) {
    TableNodes nodes(transaction, table, cache);
    root = index->build(nodes, as_changes(contents));
  });
  std::atomic<size_t> wrong{0}, held{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      storage::Transaction transaction(engine, storage::Transaction::Mode::read);
      TableNodes nodes(transaction, table, cache);
      const NodePtr top = nodes.get(root);
      for (const auto& [key, value] : contents) {
        const auto found = index->find(nodes, root, key);
        wrong += !found || found->value != value;
      }
      index->scan(nodes, root, std::nullopt, [&](BytesView key, BytesView value) {
        const auto expected = contents.find(Bytes(key));
        wrong += expected == contents.end() || expected->second != value;
        return true;
      });
      if (thread == 0) held = linked_bytes(*top);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(held <= bytes_max);
  CHECK(cache.bytes() <= bytes_max);
}

TEST_CASE("nodes in a table are there after a restart, belong to the transaction, and damage is found") {
  const storage::TemporaryDirectory directory;
  const Contents contents = some_contents();
  const auto index = make_index({});
  Hash root{}, empty{};
  {
    storage::Engine engine(storage::test_options(directory.path()));
    const storage::Table table = engine.open_table("versions-1-nodes");
    NodeCache cache(50'000);
    storage::in_transaction(engine, [&](storage::Transaction& transaction) {
      TableNodes nodes(transaction, table, cache);
      empty = index->empty(nodes);
      root = index->update(nodes, empty, as_changes(contents));
    });
    {
      storage::Transaction transaction(engine, storage::Transaction::Mode::write);
      NodeCache own(50'000);
      TableNodes nodes(transaction, table, own);
      root = index->put(nodes, root, "rolled back", "");
      transaction.rollback();
    }
    storage::Transaction transaction(engine, storage::Transaction::Mode::read);
    TableNodes nodes(transaction, table, cache);
    CHECK_THROWS_AS(index->find(nodes, root, "rolled back"), base::OperationError);
    MemoryNodes memory;
    root = index->build(memory, as_changes(contents));
    CHECK(read(*index, nodes, root) == contents);
    CHECK(nodes.read_from_table() > 0);
  }
  storage::Engine engine(storage::test_options(directory.path()));
  const storage::Table table = engine.open_table("versions-1-nodes");
  NodeCache cache(1 << 20);
  Hash leaf{};
  storage::in_transaction(engine, [&](storage::Transaction& transaction) {
    TableNodes nodes(transaction, table, cache);
    CHECK(read(*index, nodes, root) == contents);
    const auto first = index->find(nodes, root, contents.begin()->first);
    REQUIRE(first);
    leaf = first->node->hash();
    Bytes damaged(first->node->bytes());
    damaged[damaged.size() / 2] ^= 4;
    table.put(transaction, view(leaf), damaged);
  });
  storage::Transaction transaction(engine, storage::Transaction::Mode::read);
  NodeCache fresh(1 << 20);
  TableNodes nodes(transaction, table, fresh);
  CHECK_THROWS_AS(index->find(nodes, root, contents.begin()->first), base::OperationError);
}

TEST_CASE(
    "a node that is like an older one is kept as its delta, so many in a row, and read back by whoever has nothing in memory") {
  const storage::TemporaryDirectory directory;
  storage::Engine engine(storage::test_options(directory.path()));
  const storage::Table table = engine.open_table("versions-1-nodes");
  NodeCache cache(1 << 20);
  const auto index = make_index({});
  base::Random random(34);
  std::vector<std::pair<Hash, Contents>> past;
  MemoryNodes whole;
  storage::in_transaction(engine, [&](storage::Transaction& transaction) {
    TableNodes nodes(transaction, table, cache);
    Contents contents;
    for (int i = 0; i < 400; ++i) contents["key" + std::to_string(i)] = Bytes(view(sha256(std::to_string(i))));
    Hash root = index->build(nodes, as_changes(contents));
    for (int i = 0; i < 100; ++i) {
      const Bytes key = "key" + std::to_string(random.below(400)), value(view(sha256(std::to_string(1000 + i))));
      contents[key] = value;
      root = index->put(nodes, root, key, value);
      CHECK(root == index->build(whole, as_changes(contents)));
      if (i % 10 == 9) past.emplace_back(root, contents);
    }
  });
  storage::Transaction transaction(engine, storage::Transaction::Mode::read);
  size_t leaning = 0;
  for (const auto& [root, contents] : past) {
    NodeCache fresh(1 << 20);
    TableNodes nodes(transaction, table, fresh);
    CHECK(read(*index, nodes, root) == contents);
    // Nothing else needs the nodes that these are based on.
    std::set<Hash> of_tree, leans;
    for (const Hash& hash : nodes_of(nodes, root)) of_tree.insert(hash);
    for (const Hash& hash : of_tree) {
      if (const auto base = TableNodes::base_of(*table.get(transaction, view(hash))); base && !of_tree.contains(*base))
        leans.insert(*base);
    }
    leaning += leans.size();
    for (const Hash& hash : leans) CHECK_FALSE(fresh.get(hash));
  }
  CHECK(leaning > 10);
  uint64_t bytes = 0;
  size_t deltas = 0;
  std::map<Bytes, Bytes> bases;
  storage::TableCursor cursor = table.cursor(transaction);
  while (cursor.next()) {
    bytes += cursor.value().size();
    const auto base = TableNodes::base_of(cursor.value());
    if (base) bases.emplace(cursor.key(), view(*base));
    deltas += base.has_value();
  }
  CHECK(deltas > 150);
  CHECK(bytes < whole.bytes() / 2);
  size_t longest = 0;
  for (const auto& [row, first] : bases) {
    size_t hops = 0;
    for (auto at = bases.find(row); at != bases.end(); at = bases.find(at->second)) ++hops;
    longest = std::max(longest, hops);
  }
  CHECK(longest == TableNodes::hops_max);
}
