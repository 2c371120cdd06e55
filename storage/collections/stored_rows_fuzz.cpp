// Any rows are taken as counts of collections, or as the catalog's past. They are refused, as damaged data is, or can be read.
//
// The input is a byte that says which table it is, and rows (storage/testing/fuzz_table.h).
#include "bson/json.h"
#include "storage/collections/past_catalog.h"
#include "storage/engine/counts.h"
#include "storage/testing/fuzz_table.h"

namespace {

using namespace storage;

constexpr char of_counts = 0, of_past = 1;

FuzzTable& counts() {
  static FuzzTable one("counts-fuzz");
  return one;
}
FuzzTable& past() {
  static FuzzTable one("past-catalog");
  return one;
}

bool read_counts_of(Transaction& transaction) {
  return !base::refuses([&] {
    for (const auto& [id, one] : load_counts(transaction, counts().table()).collections) base::check(one != nullptr);
  });
}

bool read_past_of(Transaction& transaction) {
  PastCatalog catalog(past().engine());
  return !base::refuses([&] {
    for (const CollectionId collection : catalog.collections(transaction)) {
      catalog.newest(transaction, collection);
      catalog.lists_index(transaction, collection, 1);
    }
    catalog.as_of(transaction, 5);
  });
}

bool run(BytesView input) {
  if (input.empty()) return false;
  const BytesView rows = input.substr(1);
  return input[0] == of_counts ? counts().with_rows(rows, read_counts_of) : past().with_rows(rows, read_past_of);
}

std::vector<Bytes> seeds() {
  const Bytes some_counts = counts().rows_of([](Transaction& transaction) {
    CountChanges changes;
    changes.add(3, std::make_shared<Counts>(), 5, 700, 9);
    changes.add(4'000'000'000, std::make_shared<Counts>(), 1, 7, 10);
    changes.write(transaction, counts().table(), 2);
  });
  const Bytes some_past = past().rows_of([](Transaction& transaction) {
    CollectionEntry entry{.id = 7, .ns = "db.c", .uuid = Bytes(16, 'u'), .options = {}, .indexes = {}, .next_index = 2};
    entry.indexes.push_back({1, bson::json("{v: 2, key: {_id: 1}, name: '_id_'}"), true, 5});
    const PastCatalog catalog(past().engine());
    catalog.save(transaction, 7, &entry, 4);
    catalog.save(transaction, 7, nullptr, 6);
  });
  return {Bytes(1, of_counts) + some_counts, Bytes(1, of_past) + some_past};
}

const base::FuzzTarget target("stored_rows", run, seeds);

}  // namespace
