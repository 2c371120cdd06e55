#include <rapidcheck.h>

#include "versions/merkle/merge.h"
#include "versions/merkle/proof.h"
#include "versions/merkle/test_support.h"

using namespace versions::merkle;
using namespace versions::merkle::test;

namespace {

std::map<Bytes, std::pair<std::optional<Bytes>, std::optional<Bytes>>> read_diff(const Index& index, Nodes& nodes, const Hash& a,
                                                                                 const Hash& b) {
  std::map<Bytes, std::pair<std::optional<Bytes>, std::optional<Bytes>>> all;
  index.diff(nodes, a, b, [&](const Difference& difference) {
    CHECK(difference.a != difference.b);
    CHECK(all.emplace(difference.key, std::pair(difference.a, difference.b)).second);
    return true;
  });
  return all;
}

std::map<Bytes, std::pair<std::optional<Bytes>, std::optional<Bytes>>> differences(const Contents& a, const Contents& b) {
  std::map<Bytes, std::pair<std::optional<Bytes>, std::optional<Bytes>>> all;
  for (const auto& [key, value] : a) all[key].first = value;
  for (const auto& [key, value] : b) all[key].second = value;
  std::erase_if(all, [](const auto& one) { return one.second.first == one.second.second; });
  return all;
}

}  // namespace

TEST_CASE("an index holds what a map holds, through any history, and past versions stay") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    CHECK(rc::check(named.name, [&](uint64_t seed) {
      base::Random random(seed);
      const auto index = make_index(named.options);
      MemoryNodes nodes;
      const uint64_t keys = 20 + random.below(1500);
      Contents contents;
      Hash root = index->empty(nodes);
      std::vector<std::pair<Hash, Contents>> past{{root, contents}};
      for (int step = 0; step < 12; ++step) {
        const Edit edit = random_edit(random, keys, random.below(4) == 0 ? 1 + random.below(400) : 1 + random.below(8));
        root = test::apply(*index, nodes, root, edit);
        test::apply(contents, edit);
        RC_ASSERT(read(*index, nodes, root) == contents);
        if (named.invariant) RC_ASSERT(root == index->build(nodes, as_changes(contents)));
        for (int i = 0; i < 20; ++i) {
          const Bytes key = random_key(random, keys);
          const auto found = index->find(nodes, root, key);
          RC_ASSERT(found.has_value() == contents.contains(key));
          if (found) RC_ASSERT(found->value == contents[key]);
        }
        past.emplace_back(root, contents);
      }
      for (int i = 0; i < 6; ++i) {
        const auto& [a, a_contents] = past[random.below(past.size())];
        const auto& [b, b_contents] = past[random.below(past.size())];
        RC_ASSERT(read(*index, nodes, a) == a_contents);
        RC_ASSERT(read_diff(*index, nodes, a, b) == differences(a_contents, b_contents));
      }
      // Everything is removed again.
      Edit nothing;
      for (const auto& entry : contents) nothing[entry.first] = std::nullopt;
      root = test::apply(*index, nodes, root, nothing);
      RC_ASSERT(read(*index, nodes, root).empty());
      if (named.invariant) RC_ASSERT(root == index->empty(nodes));
    }));
  }
}

TEST_CASE("a scan begins at the key that it is given, and stops when the visitor says so") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    Example example(named, 11, 2000, 500);
    auto& [random, index, nodes, contents, root] = example;
    std::vector<Bytes> order;
    index->scan(nodes, root, std::nullopt, [&](BytesView key, BytesView) { return order.emplace_back(key), true; });
    REQUIRE(order.size() == contents.size());
    for (size_t i = 0; i < order.size(); i += 37) {
      std::vector<Bytes> some;
      index->scan(nodes, root, order[i], [&](BytesView key, BytesView) { return some.emplace_back(key), some.size() < 5; });
      CHECK(some == std::vector<Bytes>(order.begin() + static_cast<ptrdiff_t>(i),
                                       order.begin() + static_cast<ptrdiff_t>(std::min(i + 5, order.size()))));
    }
    if (named.options.structure == Structure::bucket_tree) continue;
    for (int i = 0; i < 50; ++i) {
      const Bytes from = random_key(random, 3000);
      Bytes first;
      index->scan(nodes, root, from, [&](BytesView key, BytesView) { return first = key, false; });
      const auto expected = contents.lower_bound(from);
      CHECK(first == (expected == contents.end() ? Bytes() : expected->first));
    }
  }
}

// Definition 3.1, (1).
TEST_CASE("structurally invariant: nodes follow from the contents, in whatever order they came") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    base::Random random(12);
    const auto index = make_index(named.options);
    MemoryNodes nodes;
    const Contents contents = random_contents(random, 100'000, 2000);
    std::set<Hash> roots{index->build(nodes, as_changes(contents))};
    for (int order = 0; order < 3; ++order) {
      std::vector<Bytes> keys;
      for (const auto& entry : contents) keys.push_back(entry.first);
      for (size_t i = keys.size(); i > 1; --i) std::swap(keys[i - 1], keys[random.below(i)]);
      Hash root = index->empty(nodes);
      // Keys come in batches, with others that go again.
      for (size_t i = 0; i < keys.size();) {
        Edit batch, back;
        for (size_t end = std::min(keys.size(), i + 1 + random.below(100)); i < end; ++i) batch[keys[i]] = contents.at(keys[i]);
        for (int stranger = 0; stranger < 10; ++stranger) {
          Bytes key = "stranger" + std::to_string(random.below(1000));
          batch[key] = random_value(random);
          back[key] = std::nullopt;
        }
        root = test::apply(*index, nodes, test::apply(*index, nodes, root, batch), back);
      }
      CHECK(read(*index, nodes, root) == contents);
      roots.insert(root);
    }
    CHECK((roots.size() == 1) == named.invariant);
  }
}

// These are definition 3.1, (2) and (3).
TEST_CASE("recursively identical, universally reusable: a record more leaves nearly all nodes as they are") {
  for (const Named& named : all_indexes) {
    if (named.options.structure == Structure::bucket_tree && named.options.buckets == 1) continue;
    INFO(named.name);
    Example example(named, 13, 1'000'000, 5000);
    auto& [random, index, nodes, contents, root] = example;
    const std::set<Hash> before = nodes_of(nodes, root);
    size_t shared = 0, different = 0;
    for (int i = 0; i < 30; ++i) {
      const Bytes key = "new" + std::to_string(random());
      for (const Hash& hash : nodes_of(nodes, index->put(nodes, root, key, random_value(random))))
        ++(before.contains(hash) ? shared : different);
    }
    CHECK(shared > 10 * different);
  }
}

TEST_CASE("what changes nothing writes nothing and keeps the root") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    Example example(named, 14, 2000, 500);
    auto& [random, index, nodes, contents, root] = example;
    const size_t count = nodes.count();
    CHECK(index->update(nodes, root, {}) == root);
    CHECK(index->remove(nodes, root, "nobody") == root);
    if (named.invariant)
      CHECK(index->update(nodes, root, as_changes(contents)) == root);
    else
      continue;  // the baseline may split a node that it is given again
    CHECK(nodes.count() == count);
  }
}

// The measure of §4.1 is the nodes visited.
TEST_CASE("look-ups visit as many nodes as the tree is high, differences as many as differ") {
  constexpr size_t records = 20'000, changed = 20;
  Contents contents;
  for (size_t i = 0; i < records; ++i) contents["user" + std::to_string(i)] = Bytes(100, static_cast<char>(i));
  for (const Named& named : all_indexes) {
    INFO(named.name);
    base::Random random(15);
    const IndexOptions& options = named.options;
    const auto index = make_index(options);
    MemoryNodes nodes;
    const Hash root = index->build(nodes, as_changes(contents));
    uint64_t most = 0;
    for (int i = 0; i < 500; ++i) {
      const uint64_t before = nodes.visits();
      CHECK(index->find(nodes, root, "user" + std::to_string(random.below(records))));
      most = std::max(most, nodes.visits() - before);
    }
    uint64_t height = 0;  // at most
    switch (options.structure) {
      case Structure::patricia_trie: height = 2 * 9 + 1; break;  // O(L)
      case Structure::bucket_tree:
        height = options.buckets == 1 ? 2 : 2 + 4;
        break;  // log_m B and the bucket: 4^4 > 100
      // log_m N: inner entries have some 44 bytes; half as many in a node leaves room for chance.
      default: height = options.node_bytes == 128 ? 16 : 6; break;
    }
    CHECK(most <= height);

    Edit edit;
    for (size_t i = 0; i < changed; ++i) edit["user" + std::to_string(random.below(records))] = "changed";
    const Hash other = test::apply(*index, nodes, root, edit);
    const uint64_t before = nodes.visits();
    CHECK(read_diff(*index, nodes, root, other).size() == edit.size());
    CHECK(nodes.visits() - before <= 4 * height * changed);
  }
}

TEST_CASE("a merge is what both sides changed, and a strategy decides where they disagree") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    base::Random random(16);
    const auto index = make_index(named.options);
    for (int round = 0; round < 30; ++round) {
      MemoryNodes nodes;
      const uint64_t keys = 30 + random.below(2000);
      const Contents base = random_contents(random, keys, 10 + random.below(15));
      const Edit ours_edit = random_edit(random, keys, 1 + random.below(40)),
                 theirs_edit = random_edit(random, keys, 1 + random.below(40));
      Contents ours = base, theirs = base;
      test::apply(ours, ours_edit);
      test::apply(theirs, theirs_edit);
      const Hash base_root = index->build(nodes, as_changes(base));
      const Hash ours_root = test::apply(*index, nodes, base_root, ours_edit),
                 theirs_root = test::apply(*index, nodes, base_root, theirs_edit);

      const auto by_us = differences(base, ours), by_them = differences(base, theirs);
      Contents expected_theirs = ours, expected_ours = ours;
      std::set<Bytes> conflicts;
      for (const auto& [key, change] : by_them) {
        const auto other = by_us.find(key);
        const bool conflict = other != by_us.end() && other->second.second != change.second;
        if (conflict) conflicts.insert(key);
        test::apply(expected_theirs, {{key, change.second}});
        if (!conflict) test::apply(expected_ours, {{key, change.second}});
      }
      const Merged neither = merge(*index, nodes, base_root, ours_root, theirs_root, select_neither);
      CHECK(std::set<Bytes>(neither.conflicts.begin(), neither.conflicts.end()) == conflicts);
      CHECK(neither.root.has_value() == conflicts.empty());
      const Merged for_us = merge(*index, nodes, base_root, ours_root, theirs_root, select_ours);
      CHECK(read(*index, nodes, *for_us.root) == expected_ours);
      const Merged for_them = merge(*index, nodes, base_root, ours_root, theirs_root, select_theirs);
      CHECK(read(*index, nodes, *for_them.root) == expected_theirs);
      if (named.invariant) CHECK(*for_them.root == index->build(nodes, as_changes(expected_theirs)));
      // If one side is the base, nothing must be read.
      const uint64_t visits = nodes.visits();
      CHECK(merge(*index, nodes, base_root, base_root, theirs_root, select_neither).root == theirs_root);
      CHECK(merge(*index, nodes, base_root, ours_root, base_root, select_neither).root == ours_root);
      CHECK(nodes.visits() == visits);
    }
  }
}

TEST_CASE("a large batch into a large tree, and out of it") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    Example example(named, 17, 10'000'000, 6000);
    auto& [random, index, nodes, contents, first] = example;
    Edit more, less;
    for (int i = 0; i < 3000; ++i) {
      const Bytes key = "m" + std::to_string(random());
      more[key] = random_value(random);
      less[key] = std::nullopt;
    }
    const Hash grown = test::apply(*index, nodes, first, more);
    CHECK(read_diff(*index, nodes, first, grown).size() == more.size());
    const Hash back = test::apply(*index, nodes, grown, less);
    CHECK(read(*index, nodes, back) == contents);
    if (named.invariant) CHECK(back == first);
  }
}

TEST_CASE("options out of their ranges are refused") {
  CHECK_THROWS_AS(make_index({.node_bytes = 63}), base::OperationError);
  CHECK_THROWS_AS(make_index({.structure = Structure::mvmb_tree, .node_bytes = 65'537}), base::OperationError);
  CHECK_THROWS_AS(make_index({.structure = Structure::bucket_tree, .buckets = 0}), base::OperationError);
  CHECK_THROWS_AS(make_index({.structure = Structure::bucket_tree, .fan_out = 1}), base::OperationError);
}

TEST_CASE("trees of another structure are refused") {
  MemoryNodes nodes;
  const Contents contents{{"a", "1"}, {"b", "2"}};
  const auto tree = make_index({}), trie = make_index({.structure = Structure::patricia_trie}),
             buckets = make_index({.structure = Structure::bucket_tree, .buckets = 10});
  const Hash of_tree = tree->build(nodes, as_changes(contents)), of_trie = trie->build(nodes, as_changes(contents)),
             of_buckets = buckets->build(nodes, as_changes(contents));
  CHECK_THROWS_AS(tree->find(nodes, of_trie, "a"), base::OperationError);
  CHECK_THROWS_AS(trie->find(nodes, of_buckets, "a"), base::OperationError);
  CHECK_THROWS_AS(buckets->find(nodes, of_tree, "a"), base::OperationError);
  CHECK_THROWS_AS(tree->diff(nodes, of_tree, of_trie, [](const Difference&) { return true; }), base::OperationError);
  CHECK_THROWS_AS(trie->diff(nodes, of_trie, of_tree, [](const Difference&) { return true; }), base::OperationError);
  CHECK_THROWS_AS(buckets->diff(nodes, of_buckets, of_tree, [](const Difference&) { return true; }), base::OperationError);
}

TEST_CASE("a walk through the nodes of a tree meets each entry where it is, and a root says what tree it is of") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    Example example(named, 17, 3000, 400);
    const NodePtr root = example.nodes.get(example.root);
    if (named.invariant) CHECK(structure_of(*root) == named.options.structure);
    Contents met;
    std::vector<Content::Child> waiting{{example.root}};
    while (!waiting.empty()) {
      const Content::Child child = std::move(waiting.back());
      waiting.pop_back();
      const NodePtr node = example.nodes.get(child.hash);
      const Content content = content_of(*node, child.place);
      CHECK(content.children.size() == children_of(*node).size());
      for (const auto& [key, value] : content.entries) CHECK(met.emplace(key, value).second);
      for (const Content::Child& below : content.children) {
        if (names_leaves(*node)) CHECK(children_of(*example.nodes.get(below.hash)).empty());
        waiting.push_back(below);
      }
    }
    CHECK(met == example.contents);
  }
}
