#include "storage/upkeep/chain_view.h"

#include <algorithm>
#include <map>
#include <set>

#include "storage/contents/record_store_state.h"

namespace storage {

namespace {

constexpr uint32_t ask_every = 500;

class Viewer {
 public:
  Viewer(const ChainStore& store, Transaction& transaction, const std::function<void()>& interrupted)
      : store_(store), tables_(store.tables()), transaction_(transaction), interrupted_(interrupted) {}

  std::optional<ChainView> view(RecordId record) {
    const auto place = find_row(tables_, transaction_, record, record < store_.packed_below());
    if (!place) return std::nullopt;
    ChainKey asked{record, {record, place->row.generation}};
    if (place->row.form == RecordRow::Form::stub) {
      asked.chain = place->row.chain;
    } else if (const auto head = tables_.heads.get(transaction_, record_key(record))) {
      asked.chain = parse_head_row(*head, record).or_throw().chain;
    }
    view_.chain = asked.chain;
    std::set<ChainKey> heads;
    if (place->row.form == RecordRow::Form::raw) heads.insert(asked);
    walk_chain(heads);
    for (const ChainKey& head : heads) add_head(head);
    std::sort(view_.nodes.begin(), view_.nodes.end(), [](const ChainNode& a, const ChainNode& b) { return a.key > b.key; });
    find_positions();
    count();
    const auto found =
        std::find_if(view_.nodes.begin(), view_.nodes.end(), [&](const ChainNode& node) { return node.key == asked; });
    if (found == view_.nodes.end()) {
      throw_damaged(tables_, record, "its delta in chain " + std::to_string(asked.chain) + " is missing");
    }
    view_.asked = static_cast<size_t>(found - view_.nodes.begin());
    return std::move(view_);
  }

 private:
  void ask() {
    if (interrupted_ && ++asked_ % ask_every == 0) interrupted_();
  }

  // This function collects the contents that have a row in the chain table. Bases of this chain without such a row are stored
  // whole in their records' rows.
  void walk_chain(std::set<ChainKey>& heads) {
    const Bytes prefix = chain_prefix(view_.chain);
    std::set<ChainKey> bases;
    {
      TableCursor cursor = tables_.chains.cursor(transaction_);
      for (bool on = cursor.seek(prefix); on && cursor.key().starts_with(prefix); on = cursor.next()) {
        ask();
        const ChainKey key = parse_chain_key(cursor.key()).or_throw();
        const ChainRow row = parse_chain_row(cursor.value(), key).or_throw();
        ChainNode node;
        node.key = key;
        node.form = row.form == ChainRow::Form::delta ? ChainNode::Form::delta : ChainNode::Form::whole;
        node.retained = row.dead;
        node.content_bytes = row.length;
        node.stored_bytes = cursor.value().size();
        node.references = row.references;
        if (row.form == ChainRow::Form::delta) {
          node.base = row.base;
          node.choice = row.choice;
          if (row.base.chain == view_.chain) bases.insert(row.base);
        }
        view_.nodes.push_back(std::move(node));
      }
    }
    for (const ChainNode& node : view_.nodes) bases.erase(node.key);
    heads.merge(bases);
  }

  void add_head(const ChainKey& key) {
    ask();
    const auto place = find_row(tables_, transaction_, key.content.record, key.content.record < store_.packed_below());
    if (!place || place->row.form != RecordRow::Form::raw || place->row.generation != key.content.generation) {
      throw_damaged(tables_, key.content.record,
                    "content " + to_string(key.content) + " in chain " + std::to_string(key.chain) + " is missing");
    }
    ChainNode node;
    node.key = key;
    node.content_bytes = place->row.content.size();
    node.stored_bytes = raw_row(place->row.generation, place->row.checksum, {}).size() + node.content_bytes;
    if (const auto bytes = tables_.heads.get(transaction_, record_key(key.content.record))) {
      const HeadRow head = parse_head_row(*bytes, key.content.record).or_throw();
      node.references = head.references;
      node.ordinal = head.ordinal;
    }
    view_.nodes.push_back(std::move(node));
  }

  // The contents are in the order of falling rank: within the chain a base comes before the contents based on it.
  void find_positions() {
    auto& nodes = view_.nodes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      ask();
      ChainNode& node = nodes[i];
      node.position = static_cast<uint32_t>(nodes.size() - 1 - i);
      node.demoted = i == 0 && !node.retained && node.base && node.base->chain != view_.chain;
      if (!node.base) {
        hops_[node.key] = 0;
        continue;
      }
      node.hop_base = i == 0 || *node.base != nodes[i - 1].key;
      const auto known = hops_.find(*node.base);
      node.hops = 1 + (known != hops_.end() ? known->second : hops_outside(*node.base));
      hops_[node.key] = node.hops;
    }
  }

  // This function counts the hops of a content in another chain. Bases rank ever higher, so the walk ends.
  uint32_t hops_outside(ChainKey key) {
    std::vector<ChainKey> way;
    uint32_t hops = 0;
    for (;;) {
      ask();
      if (const auto known = hops_.find(key); known != hops_.end()) {
        hops = known->second;
        break;
      }
      const auto bytes = tables_.chains.get(transaction_, chain_key(key));
      if (!bytes) break;
      const ChainRow row = parse_chain_row(*bytes, key).or_throw();
      if (row.form == ChainRow::Form::raw) break;
      way.push_back(key);
      key = row.base;
    }
    for (auto one = way.rbegin(); one != way.rend(); ++one) hops_[*one] = ++hops;
    return hops;
  }

  void count() {
    uint64_t hops = 0;
    for (const ChainNode& node : view_.nodes) {
      view_.content_bytes += node.content_bytes;
      view_.stored_bytes += node.stored_bytes;
      view_.hops_max = std::max(view_.hops_max, node.hops);
      view_.heads += node.form == ChainNode::Form::head;
      view_.retained += node.retained;
      view_.hop_bases += node.hop_base;
      hops += node.hops;
    }
    if (!view_.nodes.empty()) view_.hops_mean = static_cast<double>(hops) / static_cast<double>(view_.nodes.size());
  }

  const ChainStore& store_;
  const StoreTables& tables_;
  Transaction& transaction_;
  const std::function<void()>& interrupted_;
  uint32_t asked_ = 0;
  ChainView view_;
  std::map<ChainKey, uint32_t> hops_;
};

}  // namespace

std::optional<ChainView> view_chain(Collection& collection, Transaction& transaction, RecordId record,
                                    const std::function<void()>& interrupted) {
  return Viewer(collection.records().state().chains, transaction, interrupted).view(record);
}

Bytes read_node(Collection& collection, Transaction& transaction, const ChainNode& node) {
  const ChainStore& store = collection.records().state().chains;
  ContentReader reader(store.tables(), transaction, store.collection());
  auto content = reader.read(node.key);
  if (!content) throw_damaged(store.tables(), node.key.content.record, content.failure().message);
  return std::move(*content);
}

}  // namespace storage
