#include "bench/merkle/hash_floor.h"

#include <algorithm>
#include <unordered_set>

#include "bench/measure/cpu_clock.h"

namespace bench::merkle {
namespace {

// Notes what had to be hashed for each node, without sections that stood in an older node.
class Hashed : public siri::MemoryNodes {
 public:
  std::vector<Bytes> wide, single;  // side by side, and one after the other

 protected:
  void write(siri::NodePtr node, const siri::NodePtr& like) override {
    if (node->kind() == siri::NodeKind::search) {
      for (size_t i = 0; i < node->sections(); ++i) {
        if (seen_.insert(node->digest(i)).second) wide.emplace_back(node->section_bytes(i));
      }
      node->append_directory(wide.emplace_back());
    } else {
      single.emplace_back(node->bytes());
    }
    MemoryNodes::write(std::move(node), like);
  }

 private:
  struct First8 {
    size_t operator()(const siri::Hash& hash) const { return base::load_le<size_t>(hash.data()); }
  };
  std::unordered_set<siri::Hash, First8> seen_;
};

}  // namespace

HashFloor hash_floor(const siri::IndexOptions& options, const std::vector<Record>& records, size_t batch) {
  const auto index = siri::make_index(options);
  Hashed nodes;
  siri::Hash root = index->empty(nodes);
  HashFloor floor;
  // It hashes as many at a time as a level seals nodes at a time, so that their sections are still in the processor's cache.
  constexpr size_t at_once = 400;
  for (size_t i = 0; i < records.size(); i += batch) {
    root = index->update(nodes, root, in_order(records.data() + i, std::min(batch, records.size() - i)));
    std::vector<siri::Hash> hashes(nodes.wide.size());
    std::vector<siri::Message> messages;
    for (size_t at = 0; at < nodes.wide.size(); ++at) messages.push_back({nodes.wide[at], &hashes[at]});
    const CpuWatch watch;
    for (size_t at = 0; at < messages.size(); at += at_once)
      siri::sha256_many(std::span(messages).subspan(at, std::min(at_once, messages.size() - at)));
    for (const Bytes& one : nodes.single) siri::sha256(one);
    floor.seconds += watch.seconds();
    for (const auto* all : {&nodes.wide, &nodes.single}) {
      for (const Bytes& one : *all) floor.bytes += one.size();
      floor.messages += all->size();
    }
    nodes.wide.clear();
    nodes.single.clear();
  }
  return floor;
}

}  // namespace bench::merkle
