#include "versions/merkle/search_tree.h"

#include "versions/merkle/level_writer.h"
#include "versions/merkle/proof.h"
#include "versions/merkle/tree_walk.h"

namespace versions::merkle {
namespace {

// What one run of new nodes stands for: old nodes first to last, new ones likewise.
struct Run {
  size_t old_begin, old_end, new_begin, new_end;
};

// All entries, as nodes of that level.
std::vector<NodePtr> write_level(Nodes& nodes, LevelWriter& writer) {
  NodeBuilder::seal(writer.nodes());
  std::vector<NodePtr> written(writer.nodes().begin(), writer.nodes().end());
  for (const NodePtr& node : written) nodes.put(node);
  return written;
}

}  // namespace

Hash SearchTree::empty(Nodes& nodes) const {
  const std::shared_ptr<Node> leaf = NodeBuilder(0).finish();
  NodeBuilder::seal(std::span(&leaf, 1));
  nodes.put(leaf);
  return leaf->hash();
}

std::optional<Found> SearchTree::find(Nodes& nodes, const Hash& root, BytesView key) const {
  NodePtr node = search_node(nodes, root);
  for (;;) {
    const size_t at = node->lower_bound(key);
    if (at == node->size()) return std::nullopt;
    if (node->level() == 0) {
      if (node->key(at) != key) return std::nullopt;
      const BytesView value = node->value(at);
      return Found{std::move(node), value};
    }
    node = search_node(nodes, node->child(at));
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

// Both walks stand behind everything that was compared already. Where both are about to enter the same subtree, it is left out;
// else the one that is higher up goes down.
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
    above = rewrite(nodes, root, level, level == 0 ? changes : above.changes);
    if (above.changes.empty()) return root_hash;
  }
  // What came in place of the old root are all nodes there are on its level.
  std::vector<NodePtr> tops = std::move(above.made);
  for (unsigned level = root->level() + 1; tops.size() > 1; ++level) {
    LevelWriter writer(cut_, level, node_bytes_);
    for (const NodePtr& node : tops) writer.add(node->last_key(), view(node->hash()));
    writer.end_old_node();
    writer.end_level();
    tops = write_level(nodes, writer);
  }
  if (tops.empty()) return empty(nodes);
  // The top is the lowest level that has one node.
  NodePtr top = tops.front();
  while (top->level() > 0 && top->size() == 1) top = search_node(nodes, top->child(0));
  return top->hash();
}

SearchTree::Above SearchTree::rewrite(Nodes& nodes, const NodePtr& root, unsigned level, std::span<const Change> changes) const {
  LevelWalk walk(nodes, root, level);
  LevelWriter writer(cut_, level, node_bytes_);
  std::vector<NodePtr> old;
  std::vector<Run> runs;
  for (size_t change = 0; change < changes.size();) {
    walk.seek(changes[change].key);
    Run run{old.size(), 0, writer.nodes().size(), 0};
    for (;;) {
      const NodePtr& node = walk.node();
      const bool last = walk.is_last();
      old.push_back(node);
      for (size_t entry = 0;;) {
        const bool more = entry < node->size();
        if (change < changes.size() && (more ? changes[change].key <= node->key(entry) : last)) {
          if (more && changes[change].key == node->key(entry)) ++entry;
          if (changes[change].value) writer.add(changes[change].key, *changes[change].value);
          ++change;
        } else if (more) {
          writer.add(*node, entry++);
        } else {
          break;
        }
      }
      writer.end_old_node();
      if (last) writer.end_level();
      // Where an old node ends and a new one too, everything behind is as it was.
      if (writer.between_nodes()) break;
      walk.next();
    }
    run.old_end = old.size();
    run.new_end = writer.nodes().size();
    runs.push_back(run);
  }
  NodeBuilder::seal(writer.nodes());

  Above above;
  above.made.assign(writer.nodes().begin(), writer.nodes().end());
  const auto& made = above.made;
  for (const Run& run : runs) {
    size_t i = run.old_begin, j = run.new_begin;
    while (i < run.old_end || j < run.new_end) {
      if (i < run.old_end && old[i]->size() == 0) {
        ++i;  // the empty root: nobody names it
        continue;
      }
      const int order = i == run.old_end ? 1 : j == run.new_end ? -1 : old[i]->last_key().compare(made[j]->last_key());
      if (order == 0 && old[i]->hash() == made[j]->hash()) {
        ++i, ++j;
        continue;
      }
      if (order >= 0) {
        above.changes.push_back({made[j]->last_key(), view(made[j]->hash())});
        nodes.put(made[j]);
        ++j;
      } else {
        above.changes.push_back({old[i]->last_key(), std::nullopt});
      }
      if (order <= 0) ++i;
    }
  }
  above.old = std::move(old);
  return above;
}

Bytes SearchTree::prove(Nodes& nodes, const Hash& root, BytesView key) const {
  ProofWriter proof;
  Hash hash = root;
  for (;;) {
    const NodePtr node = search_node(nodes, hash);
    const size_t at = node->lower_bound(key);
    proof.add(*node, at);
    if (at == node->size() || node->level() == 0) return proof.done();
    hash = node->child(at);
  }
}

}  // namespace versions::merkle
