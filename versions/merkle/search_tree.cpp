#include "versions/merkle/search_tree.h"

#include <algorithm>

#include "versions/merkle/level_writer.h"
#include "versions/merkle/proof.h"
#include "versions/merkle/tree_walk.h"

namespace versions::merkle {
namespace {

// A run of old nodes, and the number of nodes that were made by its end.
struct Run {
  size_t old_end, made_end;
};

// Finds the changes from `first` on that fall into a node, if all of them only give other values of the same lengths to entries
// that it has; otherwise finds none.
void find_replacements(const Node& node, bool is_last, std::span<const Change> changes, size_t first,
                       std::vector<NodeBuilder::Replacement>& found) {
  found.clear();
  for (size_t i = first; i < changes.size(); ++i) {
    const Change& change = changes[i];
    const size_t entry = node.lower_bound(change.key);
    if (entry == node.size() && !is_last) return;
    if (entry == node.size() || !change.value || node.key(entry) != change.key ||
        node.value(entry).size() != change.value->size())
      return found.clear();
    found.push_back({entry, *change.value});
  }
}

// Announces the children that changes fall into.
void expect_children(Nodes& nodes, const Node& parent, std::span<const Change> changes) {
  std::vector<size_t> entries;
  for (const Change& change : changes) {
    const size_t entry = parent.lower_bound(change.key);
    if (entry == parent.size()) break;
    if (entries.empty() || entries.back() != entry) entries.push_back(entry);
  }
  if (!entries.empty()) nodes.expect(parent, entries);
}

}  // namespace

Hash SearchTree::empty(Nodes& nodes) const {
  return nodes.put(NodeBuilder(0).finish_sealed());
}

std::optional<Found> SearchTree::find(Nodes& nodes, const Hash& root, BytesView key) const {
  NodePtr held = search_node(nodes, root);
  for (const Node* node = held.get();;) {
    const size_t at = node->lower_bound(key);
    if (at == node->size()) return std::nullopt;
    if (node->level() == 0) {
      if (node->key(at) != key) return std::nullopt;
      return Found{NodePtr(node), node->value(at)};
    }
    node = &search_child(nodes, *node, at, held);
  }
}

void SearchTree::scan(Nodes& nodes, const Hash& root, std::optional<BytesView> from, const VisitEntry& visit) const {
  TreeWalk walk(nodes, root);
  if (from) walk.seek(*from);
  for (; !walk.done(); walk.next()) {
    walk.down_to_leaf();
    if (!visit(walk.key(), walk.value())) return;
  }
}

// Both walks stand behind everything that was compared. If both are about to enter the same subtree, they skip it; otherwise the
// walk that is higher up goes down.
void SearchTree::diff(Nodes& nodes, const Hash& a_root, const Hash& b_root, const VisitDifference& visit) const {
  if (a_root == b_root) return;
  TreeWalk a(nodes, a_root), b(nodes, b_root);
  while (!a.done() && !b.done()) {
    const unsigned a_level = a.level(), b_level = b.level();
    if (a_level == b_level && a.value() == b.value() && (a_level > 0 || a.key() == b.key())) {
      a.next();
      b.next();
    } else if (a_level > 0 || b_level > 0) {
      if (a_level >= b_level) a.down();
      if (b_level >= a_level) b.down();
    } else {
      const int order = a.key().compare(b.key());
      Difference difference{order <= 0 ? a.key() : b.key(), {}, {}};
      if (order <= 0) difference.a = a.value();
      if (order >= 0) difference.b = b.value();
      if (!visit(difference)) return;
      if (order <= 0) a.next();
      if (order >= 0) b.next();
    }
  }
  for (; !a.done(); a.next()) {
    a.down_to_leaf();
    if (!visit({a.key(), a.value(), {}})) return;
  }
  for (; !b.done(); b.next()) {
    b.down_to_leaf();
    if (!visit({b.key(), {}, b.value()})) return;
  }
}

Hash SearchTree::update(Nodes& nodes, const Hash& root_hash, std::span<const Change> changes) const {
  if (changes.empty()) return root_hash;
  const NodePtr root = search_node(nodes, root_hash);
  Above above;
  for (unsigned level = 0; level <= root->level(); ++level) {
    above = rewrite(nodes, root, level, level == 0 ? changes : above.changes, level == root->level());
    if (!above.changed) return root_hash;
  }
  // The nodes in the old root's place are all nodes of its level.
  std::erase_if(above.changes, [](const Change& change) { return !change.value; });
  for (unsigned level = root->level() + 1; above.changes.size() > 1; ++level) above = write(nodes, level, above.changes);
  if (above.changes.empty()) return empty(nodes);
  // The top is the lowest level that has one node.
  NodePtr held = search_node(nodes, read_hash(above.changes[0].value->data()));
  const Node* node = held.get();
  while (node->level() > 0 && node->size() == 1) node = &search_child(nodes, *node, 0, held);
  return node->hash();
}

SearchTree::Above SearchTree::rewrite(Nodes& nodes, const NodePtr& root, unsigned level, std::span<const Change> changes,
                                      bool all) const {
  LevelWalk walk(nodes, root, level);
  LevelWriter writer(cut_, level, node_bytes_);
  Above above;
  const auto keep = [&](BytesView key, const Hash* hash) {
    above.changes.push_back(
        {above.bytes.keep(key), hash != nullptr ? std::optional(above.bytes.keep(view(*hash))) : std::nullopt});
  };
  std::vector<NodePtr> old;
  std::vector<Run> runs;
  std::vector<NodeBuilder::Replacement> replaced;
  const Node* asked = nullptr;
  const auto end_runs = [&] {
    std::vector<UnnamedNode> made = writer.take();
    nodes.expect(made);
    size_t i = 0, j = 0;
    for (const Run& run : runs) {
      while (i < run.old_end || j < run.made_end) {
        if (i < run.old_end && old[i]->size() == 0) {
          ++i;  // no other node names the empty root
          continue;
        }
        const int order = i == run.old_end ? 1 : j == run.made_end ? -1 : old[i]->last_key().compare(made[j]->last_key());
        const bool same = order == 0 && old[i]->hash() == made[j]->hash();
        above.changed |= !same;
        if (order < 0)
          keep(old[i]->last_key(), nullptr);
        else if (!same || all)
          keep(made[j]->last_key(), &made[j]->hash());
        if (order >= 0 && !same) nodes.put(std::move(made[j]), old[std::min(i, run.old_end - 1)]);
        if (order <= 0) ++i;
        if (order >= 0) ++j;
      }
    }
    old.clear();
    runs.clear();
  };

  for (size_t change = 0; change < changes.size();) {
    walk.seek(changes[change].key);
    if (const Node* const parent = walk.parent(); parent != nullptr && parent != asked) {
      expect_children(nodes, *parent, changes.subspan(change + 1));
      asked = parent;
    }
    for (;;) {
      const Node& node = walk.node();
      const bool last = walk.is_last();
      old.emplace_back(&node);
      if (writer.between_nodes() && writer.keeps_end(node)) {
        find_replacements(node, last, changes, change, replaced);
        if (!replaced.empty()) {
          writer.add(node, replaced);
          change += replaced.size();
          break;
        }
      }
      for (size_t entry = 0;;) {
        const bool more = entry < node.size();
        if (change < changes.size() && (more ? changes[change].key <= node.key(entry) : last)) {
          if (more && changes[change].key == node.key(entry)) ++entry;
          if (changes[change].value) writer.add(changes[change].key, *changes[change].value);
          ++change;
        } else if (more) {
          writer.add(node, entry++);
        } else {
          break;
        }
      }
      writer.end_old_node();
      if (last) writer.end_level();
      // If an old node and a new one end at the same place, everything behind is as it was.
      if (writer.between_nodes()) break;
      walk.next();
    }
    runs.push_back({old.size(), writer.made()});
    if (writer.made() >= 64) end_runs();
  }
  end_runs();
  return above;
}

SearchTree::Above SearchTree::write(Nodes& nodes, unsigned level, std::span<const Change> entries) const {
  LevelWriter writer(cut_, level, node_bytes_);
  for (const Change& entry : entries) writer.add(entry.key, *entry.value);
  writer.end_old_node();
  writer.end_level();
  Above above;
  for (UnnamedNode& node : writer.take()) {
    above.changes.push_back({above.bytes.keep(node->last_key()), above.bytes.keep(view(node->hash()))});
    nodes.put(std::move(node));
  }
  return above;
}

Bytes SearchTree::prove(Nodes& nodes, const Hash& root, BytesView key) const {
  ProofWriter proof;
  NodePtr held = search_node(nodes, root);
  for (const Node* node = held.get();;) {
    const size_t at = node->lower_bound(key);
    proof.add(*node, at);
    if (at == node->size() || node->level() == 0) return proof.done();
    node = &search_child(nodes, *node, at, held);
  }
}

}  // namespace versions::merkle
