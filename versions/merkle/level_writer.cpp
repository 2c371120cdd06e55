#include "versions/merkle/level_writer.h"

#include <algorithm>

namespace versions::merkle {

void LevelWriter::add(BytesView key, BytesView value) {
  if (cut_ == Cut::overflow) return items_.push_back({nullptr, 0, key, value, entry_bytes(key, value)});
  const size_t before = builder_.bytes();
  builder_.add(key, value);
  if (cutter_.ends_after(key, value, before, builder_.bytes() - before)) end_node();
}

void LevelWriter::add(const Node& from, size_t entry) {
  if (cut_ == Cut::overflow) return items_.push_back({&from, entry, {}, {}, from.entry(entry).size()});
  const size_t before = builder_.bytes();
  builder_.add(from, entry);
  if (cutter_.ends_after(from.key(entry), from.value(entry), before, builder_.bytes() - before)) end_node();
}

bool LevelWriter::keeps_end(const Node& from) const {
  // With a byte window, and above the leaves, values decide about ends.
  return cut_ == Cut::key_hash || (cut_ == Cut::overflow && from.bytes().size() < uint64_t{node_bytes_} * 3 / 2);
}

void LevelWriter::add(const Node& from, std::span<const NodeBuilder::Replacement> values) {
  nodes_.push_back(NodeBuilder::with_values(from, values));
  if (nodes_.size() - sealed_ >= at_once) seal();
}

// So many are enough to hash side by side, and few enough to be in the processor's cache still.
void LevelWriter::end_node() {
  nodes_.push_back(builder_.finish());
  if (nodes_.size() - sealed_ >= at_once) seal();
}

void LevelWriter::seal() {
  NodeBuilder::seal(std::span(nodes_).subspan(sealed_));
  sealed_ = nodes_.size();
}

std::vector<UnnamedNode> LevelWriter::take() {
  seal();
  sealed_ = 0;
  return std::exchange(nodes_, {});
}

void LevelWriter::split() {
  size_t total = 0;
  for (const Item& item : items_) total += item.bytes;
  // A node in which nothing changed stays, even if one long entry makes it too full.
  const bool as_it_was = !items_.empty() && items_[0].from != nullptr && items_.size() == items_[0].from->size() &&
                         std::all_of(items_.begin(), items_.end(), [&](const Item& item) { return item.from == items_[0].from; });
  const size_t parts = as_it_was ? 1 : total / (uint64_t{node_bytes_} * 3 / 2) + 1;
  size_t written = 0, part = 1, in_node = 0;
  for (const Item& item : items_) {
    if (item.from != nullptr)
      builder_.add(*item.from, item.entry);
    else
      builder_.add(item.key, item.value);
    written += item.bytes;
    // Every node has two entries at least, so that every level has half as many nodes as the one below.
    if (++in_node >= 2 && written * parts >= total * part) {
      end_node();
      in_node = 0;
      while (written * parts >= total * part) ++part;
    }
  }
  end_level();
  items_.clear();
}

}  // namespace versions::merkle
