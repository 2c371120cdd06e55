// Any rows are taken as the index entries of contents that were overwritten. A walk in either direction is refused, as damaged
// data is, or gives the entries of the index within the range alone.
//
// The input is a collection, an index (8 bytes each), a range's two ends (parts), and rows (storage/testing/fuzz_table.h).
#include <algorithm>

#include "storage/testing/fuzz_table.h"
#include "versions/past/saved_entries.h"

namespace {

using namespace versions::past;

storage::FuzzTable& rows() {
  static storage::FuzzTable one("past-entries");
  return one;
}

// nullopt: it was refused.
std::optional<std::vector<Bytes>> walk(SavedEntries::Cursor& cursor, const storage::KeyRange& range) {
  std::vector<Bytes> found;
  const bool refused = base::refuses([&] {
    for (cursor.seek(range); cursor.next();) {
      Bytes entry(cursor.key());
      base::append_be64(entry, static_cast<uint64_t>(cursor.record()));
      base::append_be64(entry, cursor.generation());
      found.push_back(std::move(entry));
    }
  });
  return refused ? std::nullopt : std::optional(std::move(found));
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const auto collection = static_cast<CollectionId>(reader.number());
  const auto index = static_cast<uint32_t>(reader.number());
  const Bytes from(reader.part()), to(reader.part());
  return rows().with_rows(reader.rest(), [&](Transaction& transaction) {
    const SavedEntries entries(rows().table());
    SavedEntries::Cursor forward(entries, transaction, collection, index, storage::Direction::forward),
        backward(entries, transaction, collection, index, storage::Direction::backward);
    const auto there = walk(forward, {from, to});
    auto back = walk(backward, {from, to});
    if (!there || !back) return false;
    std::reverse(back->begin(), back->end());
    base::check(*there == *back, "both directions meet the same entries");
    return !there->empty();
  });
}

Bytes row(CollectionId collection, uint32_t index, BytesView key, uint64_t record) {
  Bytes out;
  base::append_be64(out, uint64_t{collection} << 32 | index);
  out.append(key);
  base::append_be64(out, record);
  base::append_be64(out, 99);
  return out;
}

std::vector<Bytes> seeds() {
  const Bytes all = rows().rows_of([&](Transaction& transaction) {
    for (uint64_t record = 1; record < 5; ++record) {
      rows().table().put(transaction, row(3, 2, "key" + std::to_string(record % 3), record), "");
      rows().table().put(transaction, row(3, 4, "key", record), "");
    }
  });
  return {base::FuzzWriter().number(3).number(2).part("").part("").rest(all),
          base::FuzzWriter().number(3).number(2).part("key1").part("key2").rest(all)};
}

const base::FuzzTarget target("saved_entries", run, seeds);

}  // namespace
