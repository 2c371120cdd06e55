#include <algorithm>
#include <set>

#include "storage/contents/contents.h"
#include "storage/upkeep/repair_steps.h"

namespace storage {

struct Repair::Row {
  ChainKey key;
  bool delta = false;
  bool marked_dead = false;
  bool kept = false;
  ChainKey base = {};
  uint64_t references = 0;  // This is the count that the row has.
  uint64_t counted = 0;
  bool dead = false;
  bool gone = false;
};

class Repair::Changes {
 public:
  explicit Changes(Repair& repair) : repair_(repair) {}
  void add(std::function<void(Transaction&)> change) {
    waiting_.push_back(std::move(change));
    if (waiting_.size() >= batch) done();
  }
  void done() {
    repair_.ask();
    in_transaction(repair_.engine_, [&](Transaction& transaction) {
      for (const auto& change : waiting_) change(transaction);
    });
    repair_.report.corrected_chains += static_cast<int64_t>(waiting_.size());
    waiting_.clear();
  }

 private:
  Repair& repair_;
  std::vector<std::function<void(Transaction&)>> waiting_;
};

void Repair::correct_chains() {
  std::vector<Row> rows;
  std::vector<Bytes> unreadable;
  std::map<ChainKey, size_t> at;
  std::set<std::pair<ContentName, RecordId>> led_to;  // Records' stubs lead to these contents.
  // These are the counted references to records' own contents that are whole.
  std::map<ContentName, uint64_t> raw;
  std::map<RecordId, HeadRow> heads;
  std::vector<RecordId> bad_heads;
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    for (const Table* table : {&tables_.records, &tables_.packed}) {
      TableCursor cursor = table->cursor(transaction);
      while (cursor.next()) {
        const RecordId record = record_from_key(cursor.key());
        const auto row = parse_record_row(cursor.value(), record);
        if (!row) continue;
        if (row.value().form == RecordRow::Form::stub) {
          led_to.insert({{record, row.value().generation}, row.value().chain});
        } else {
          raw[{record, row.value().generation}] = 0;
        }
      }
    }
    TableCursor chain = tables_.chains.cursor(transaction);
    while (chain.next()) {
      const auto key = parse_chain_key(chain.key());
      const auto row = key ? parse_chain_row(chain.value(), key.value()) : base::Result<ChainRow>(key.failure());
      if (!row) {
        unreadable.emplace_back(chain.key());
        continue;
      }
      at[key.value()] = rows.size();
      rows.push_back({.key = key.value(),
                      .delta = row.value().form == ChainRow::Form::delta,
                      .marked_dead = row.value().dead,
                      .kept = row.value().kept,
                      .base = row.value().base,
                      .references = row.value().references});
    }
    TableCursor head = tables_.heads.cursor(transaction);
    while (head.next()) {
      const RecordId record = record_from_key(head.key());
      const auto row = parse_head_row(head.value(), record);
      if (row)
        heads[record] = row.value();
      else
        bad_heads.push_back(record);
    }
  }
  // Bases rank above the contents based on them. The loop from the highest down finds contents without a base, and the loop
  // from the lowest up finds contents that nobody needs.
  std::vector<Row*> order;
  for (Row& row : rows) order.push_back(&row);
  std::sort(order.begin(), order.end(), [](const Row* a, const Row* b) { return a->key.content < b->key.content; });
  for (auto row = order.rbegin(); row != order.rend(); ++row) {
    Row& one = **row;
    one.gone = one.delta && !stands(one.base, at, rows, raw);
    one.dead = one.marked_dead || !led_to.contains({one.key.content, one.key.chain});
  }
  std::map<ContentName, RecordId> chain_of_head;
  for (Row* row : order) {
    if (row->dead && !row->kept && row->counted == 0) row->gone = true;
    if (row->gone || !row->delta) continue;
    if (const auto base = at.find(row->base); base != at.end()) {
      ++rows[base->second].counted;
    } else {
      ++raw[row->base.content];
      chain_of_head[row->base.content] = row->base.chain;
    }
  }

  Changes changes(*this);
  report.took_away |= !unreadable.empty();
  for (const Bytes& key : unreadable)
    changes.add([this, key](Transaction& transaction) { tables_.chains.remove(transaction, key); });
  for (const RecordId record : bad_heads)
    changes.add([this, record](Transaction& transaction) { tables_.heads.remove(transaction, record_key(record)); });
  for (const Row* row : order) {
    if (row->gone) {
      report.removed_contents += row->kept;
      report.took_away |= row->kept;
      changes.add([this, key = row->key](Transaction& transaction) { tables_.chains.remove(transaction, chain_key(key)); });
      continue;
    }
    if (row->references == row->counted && row->dead == row->marked_dead) continue;
    changes.add([this, row](Transaction& transaction) {
      const Bytes bytes(*tables_.chains.get(transaction, chain_key(row->key)));
      ChainRow stored = parse_chain_row(bytes, row->key).or_throw();
      stored.references = row->counted;
      stored.dead = row->dead;
      tables_.chains.put(transaction, chain_key(row->key), chain_row(row->key, stored));
    });
  }
  for (const auto& [content, counted] : raw) {
    const auto head = heads.find(content.record);
    const uint64_t stored = head == heads.end() ? 0 : head->second.references;
    if (stored == counted && (counted == 0) == (head == heads.end())) continue;
    HeadRow right{counted ? chain_of_head[content] : content.record, head == heads.end() ? 0 : head->second.ordinal, counted};
    changes.add([this, record = content.record, right](Transaction& transaction) {
      if (right.references == 0)
        tables_.heads.remove(transaction, record_key(record));
      else
        tables_.heads.put(transaction, record_key(record), head_row(record, right));
    });
  }
  for (const auto& [record, head] : heads) {
    const auto next = raw.lower_bound({record, 0});
    if (next != raw.end() && next->first.record == record) continue;
    changes.add([this, record = record](Transaction& transaction) { tables_.heads.remove(transaction, record_key(record)); });
  }
  changes.done();
}

bool Repair::stands(const ChainKey& base, const std::map<ChainKey, size_t>& at, const std::vector<Row>& rows,
                    const std::map<ContentName, uint64_t>& raw) {
  if (const auto found = at.find(base); found != at.end()) return !rows[found->second].gone;
  return raw.contains(base.content);
}

}  // namespace storage
