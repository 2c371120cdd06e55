// This file promotes heads: a head that was demoted because nobody read it becomes whole again.
#include "storage/contents/chain_store.h"

namespace storage {

namespace {

constexpr uint32_t counted_max = 1 << 16;  // rows of a chain that are counted at most

}  // namespace

bool ChainStore::promote(Transaction& transaction, RecordId record, std::optional<uint32_t> ordinal) {
  const auto place = find_row(tables_, transaction, record, record < packed_below());
  if (!place || place->row.form != RecordRow::Form::stub) return false;
  const ChainKey key{place->row.chain, {record, place->row.generation}};
  const auto bytes = tables_.chains.get(transaction, chain_key(key));
  if (!bytes) throw_damaged(tables_, record, "its delta in chain " + std::to_string(key.chain) + " is missing");
  const Bytes copy(*bytes);
  const ChainRow row = parse_chain_row(copy, key).or_throw();
  if (row.form != ChainRow::Form::delta || row.base.chain == key.chain) return false;
  {
    TableCursor cursor = tables_.chains.cursor(transaction);
    if (!cursor.seek(chain_key(key)) || cursor.key() != chain_key(key)) return false;
    if (cursor.next() && parse_chain_key(cursor.key()).or_throw().chain == key.chain) return false;
    if (!ordinal) {
      ordinal = 0;
      const Bytes prefix = chain_prefix(key.chain);
      for (bool on = cursor.seek(prefix); on && *ordinal < counted_max && cursor.key() < BytesView(chain_key(key));
           on = cursor.next())
        ++*ordinal;
    }
  }
  const ChainKey base = row.base;
  const Bytes content = read_chain(transaction, key);
  StoreCounts change;
  stand_whole(transaction, key, row, content, row.references, change);
  if (row.references > 0) put_head(transaction, record, {key.chain, *ordinal, row.references}, false, change);
  drop_reference(transaction, base, change);
  counters_.add_after_commit(transaction, change);
  return true;
}

}  // namespace storage
