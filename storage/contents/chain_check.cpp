#include "storage/contents/chain_check.h"

#include <map>

#include "base/hash.h"

namespace storage {

namespace {

constexpr size_t problems_max = 1000;
constexpr int64_t ask_every = 1000;

class Check {
 public:
  Check(const ChainStore& store, Transaction& transaction, bool decode, const std::function<void()>& interrupted)
      : store_(store), tables_(store.tables()), transaction_(transaction), decode_(decode), interrupted_(interrupted) {}

  ChainReport run() {
    walk_records(tables_.records);
    walk_records(tables_.packed);
    walk_heads();
    walk_chains();
    for (const auto& [key, difference] : unexplained_) {
      if (difference == 0) continue;
      problem(key.content.record, "content " + to_string(key.content) + " in chain " + std::to_string(key.chain) + " counts " +
                                      std::to_string(-difference) + " references too many");
    }
    return std::move(report_);
  }

 private:
  void problem(RecordId record, std::string what) {
    ++report_.problem_count;
    if (report_.problems.size() < problems_max) report_.problems.push_back({record, std::move(what)});
  }
  void ask() {
    if (interrupted_ && ++asked_ % ask_every == 0) interrupted_();
  }

  void walk_records(const Table& table) {
    TableCursor cursor = table.cursor(transaction_);
    while (cursor.next()) {
      ask();
      const RecordId record = record_from_key(cursor.key());
      ++report_.counts.records;
      const auto parsed = parse_record_row(cursor.value(), record);
      if (!parsed) {
        problem(record, parsed.failure().message);
        continue;
      }
      const RecordRow& row = parsed.value();
      if (!row.past.pre_states.empty()) {
        check(record, [&] {
          decode_ ? (void)store_.pre_states_of(transaction_, record, row)
                  : (void)store_.pre_states(record, row.past.pre_states, row.generation);
        });
      }
      report_.counts.raw_bytes += static_cast<int64_t>(row.past.pre_states.size());
      if (row.form == RecordRow::Form::raw) {
        const auto bytes = static_cast<int64_t>(row.content.size());
        report_.counts.raw_bytes += bytes;
        report_.counts.logical_bytes += bytes;
        if (base::checksum32(row.content) != row.checksum) problem(record, "its checksum does not hold");
      } else {
        ++report_.counts.stubs;
        if (tables_.heads.get(transaction_, record_key(record))) problem(record, "it is a stub and has a head's row");
        check_stub(record, row);
      }
      if (&table == &tables_.packed && tables_.records.get(transaction_, record_key(record)))
        problem(record, "it lies in both record tables");
    }
  }

  template <class Read>
  void check(RecordId record, Read&& read) {
    try {
      read();
    } catch (const base::OperationError& damage) {
      if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
      problem(record, damage.what());
    }
  }

  void check_stub(RecordId record, const RecordRow& row) {
    const ChainKey key{row.chain, {record, row.generation}};
    const auto bytes = tables_.chains.get(transaction_, chain_key(key));
    if (!bytes) return problem(record, "its delta in chain " + std::to_string(row.chain) + " is missing");
    const auto parsed = parse_chain_row(*bytes, key);
    if (!parsed) return problem(record, parsed.failure().message);
    if (parsed.value().dead) problem(record, "its content is marked dead");
    report_.counts.logical_bytes += static_cast<int64_t>(parsed.value().length);
  }

  void walk_heads() {
    TableCursor cursor = tables_.heads.cursor(transaction_);
    while (cursor.next()) {
      ask();
      const RecordId record = record_from_key(cursor.key());
      ++report_.counts.heads;
      const auto head = parse_head_row(cursor.value(), record);
      if (!head) {
        problem(record, head.failure().message);
        continue;
      }
      const auto place = find_sound_row(tables_, transaction_, record);
      if (!place || place->row.form != RecordRow::Form::raw) {
        problem(record, "a head's row without a raw content");
        continue;
      }
      explain({head.value().chain, {record, place->row.generation}}, -static_cast<int64_t>(head.value().references));
    }
  }

  // This call checks chain by chain; a difference that one chain doesn't explain waits for the others.
  void walk_chains() {
    std::map<ContentName, int64_t> balance;  // references found minus references counted
    RecordId chain = 0;
    const auto settle = [&] {
      for (const auto& [content, difference] : balance) explain({chain, content}, difference);
      balance.clear();
    };
    TableCursor cursor = tables_.chains.cursor(transaction_);
    while (cursor.next()) {
      ask();
      const auto key = parse_chain_key(cursor.key());
      if (!key) {
        problem(0, key.failure().message);
        continue;
      }
      if (key.value().chain != chain) settle();
      chain = key.value().chain;
      check_row(key.value(), cursor.value(), balance);
    }
    settle();
  }

  void check_row(const ChainKey& key, BytesView bytes, std::map<ContentName, int64_t>& balance) {
    const RecordId record = key.content.record;
    const auto parsed = parse_chain_row(bytes, key);
    if (!parsed) return problem(record, parsed.failure().message);
    const ChainRow& row = parsed.value();
    ++report_.counts.chain_rows;
    report_.counts.chain_bytes += static_cast<int64_t>(bytes.size());
    if (row.garbage()) {
      ++report_.counts.dead;
      report_.counts.dead_bytes += static_cast<int64_t>(bytes.size());
      if (row.references == 0) problem(record, "content " + to_string(key.content) + " is kept for nobody");
    } else if (!row.dead) {
      const auto place = find_sound_row(tables_, transaction_, record);
      if (!place || place->row.form != RecordRow::Form::stub || place->row.generation != key.content.generation ||
          place->row.chain != key.chain) {
        problem(record, "content " + to_string(key.content) + " is not dead, but its record does not lead to it");
      }
    }
    balance[key.content] -= static_cast<int64_t>(row.references);
    if (row.form == ChainRow::Form::delta) {
      check_base(record, row.base);
      if (row.base.chain == key.chain) {
        ++balance[row.base.content];
      } else {
        explain(row.base, 1);
      }
    }
    if (!row.pre_states.empty()) {
      const Stamp above = key.content.generation;
      check(record, [&] {
        decode_ ? (void)store_.pre_states_of(record, row.pre_states, above, row.payload)
                : (void)store_.pre_states(record, row.pre_states, above);
      });
    }
    if (decode_) {
      ContentReader reader(tables_, transaction_, store_.collection());
      if (const auto content = reader.read(key); !content) problem(record, content.failure().message);
    }
  }

  void check_base(RecordId record, const ChainKey& base) {
    if (tables_.chains.get(transaction_, chain_key(base))) return;
    const auto place = find_sound_row(tables_, transaction_, base.content.record);
    if (!place || place->row.form != RecordRow::Form::raw || place->row.generation != base.content.generation) {
      return problem(record,
                     "its base, content " + to_string(base.content) + " in chain " + std::to_string(base.chain) + ", is missing");
    }
  }

  void explain(const ChainKey& key, int64_t difference) {
    if (difference == 0) return;
    const auto at = unexplained_.emplace(key, 0).first;
    if ((at->second += difference) == 0) unexplained_.erase(at);
  }

  const ChainStore& store_;
  const StoreTables& tables_;
  Transaction& transaction_;
  const bool decode_;
  const std::function<void()>& interrupted_;
  int64_t asked_ = 0;
  std::map<ChainKey, int64_t> unexplained_;
  ChainReport report_;
};

}  // namespace

ChainReport check_chains(const ChainStore& store, Transaction& transaction, bool decode,
                         const std::function<void()>& interrupted) {
  return Check(store, transaction, decode, interrupted).run();
}

}  // namespace storage
