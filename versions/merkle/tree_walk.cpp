#include "versions/merkle/tree_walk.h"

namespace versions::merkle {

NodePtr search_node(Nodes& nodes, const Hash& hash) {
  NodePtr node = nodes.get(hash);
  if (node->kind() != NodeKind::search)
    throw base::OperationError(base::ErrorCode::bad_value, "Node " + base::to_hex(view(hash)) + " is not of a search tree");
  return node;
}

const Node& search_child(Nodes& nodes, const Node& parent, size_t entry, NodePtr& held) {
  const unsigned level = parent.level();  // when `held` changes, the parent may be gone
  const Node& child = nodes.child(parent, entry, held);
  if (child.kind() != NodeKind::search || child.level() + 1 != level || child.size() == 0) {
    throw base::OperationError(
        base::ErrorCode::data_corruption_detected,
        "Node " + base::to_hex(view(child.hash())) + " of a hash tree is empty, or of another level than its place");
  }
  return child;
}

TreeWalk::TreeWalk(Nodes& nodes, const Hash& root) : nodes_(nodes) {
  path_.emplace_back(search_node(nodes_, root));
  pop_finished();
}

void TreeWalk::pop_finished() {
  while (!path_.empty() && path_.back().entry >= path_.back().node->size()) {
    path_.pop_back();
    if (!path_.empty()) ++path_.back().entry;
  }
}

void TreeWalk::next() {
  ++path_.back().entry;
  pop_finished();
}

void TreeWalk::seek(BytesView key) {
  while (!done()) {
    path_.back().entry = node().lower_bound(key);
    if (entry() == node().size()) return pop_finished();
    if (level() == 0) return;
    down();
  }
}

LevelWalk::LevelWalk(Nodes& nodes, NodePtr root, unsigned level) : nodes_(nodes), level_(level) {
  path_.emplace_back(std::move(root));
  while (node().level() > level_) down();
}

bool LevelWalk::is_last() const {
  for (size_t i = 0; i + 1 < path_.size(); ++i) {
    if (path_[i].entry + 1 < path_[i].node->size()) return false;
  }
  return true;
}

void LevelWalk::seek(BytesView key) {
  while (path_.size() > 1 && node().last_key() < key) path_.pop_back();
  while (node().level() > level_) {
    WalkStep& step = path_.back();
    step.entry = std::min(step.node->lower_bound(key), step.node->size() - 1);
    down();
  }
}

void LevelWalk::next() {
  do {
    path_.pop_back();
  } while (path_.back().entry + 1 >= path_.back().node->size());
  ++path_.back().entry;
  while (node().level() > level_) down();
}

}  // namespace versions::merkle
