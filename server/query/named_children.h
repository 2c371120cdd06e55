// The nodes below one of a specification's tree, in the order in which the client wrote them, are found by their names.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace server::query {

// A Node has a `name`, which stays as it is once the node was added; no two have the same.
template <class Node>
class NamedChildren {
 public:
  // Returns nullptr if there is none of that name.
  Node* find(std::string_view name) const {
    if (table_) {
      const auto found = table_->find(name);
      return found == table_->end() ? nullptr : found->second;
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return nodes_[i].get();
    }
    return nullptr;
  }

  Node& add(std::unique_ptr<Node> node) {
    Node& added = *node;
    names_.push_back(added.name);
    nodes_.push_back(std::move(node));
    if (table_) {
      table_->emplace(added.name, &added);
    } else if (nodes_.size() > few) {
      table_ = std::make_unique<Table>();
      for (const auto& known : nodes_) table_->emplace(known->name, known.get());
    }
    return added;
  }

  auto begin() const { return nodes_.begin(); }
  auto end() const { return nodes_.end(); }
  size_t size() const { return nodes_.size(); }

 private:
  static constexpr size_t few = 16;  // so many are looked through faster than a table is asked

  using Table = std::unordered_map<std::string_view, Node*>;
  std::vector<std::string_view> names_;  // of the nodes, which are looked through without a look at the nodes
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unique_ptr<Table> table_;  // of more than a few
};

}  // namespace server::query
