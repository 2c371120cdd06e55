// Any rows are taken as the pre-images of a collection with one document. An image is refused, as damaged data is, or found, and
// is found again when its collection is dropped; in the end all rows that lead to an image expire.
//
// The input is a timestamp (8 bytes), and rows as in storage/testing/fuzz_table.h. They are committed, since PreImages reads in
// transactions of its own, and are removed when the input is over.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "replication/pre_images.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"
#include "storage/testing/temporary_store.h"

namespace {

using namespace replication;
using storage::RecordId;
using storage::Stamp;
using storage::Transaction;

constexpr Stamp second = Stamp{1} << 32;
constexpr Stamp last = 8 * second;  // the document is what this change made of it

struct Images {
  storage::TemporaryDirectory directory;
  storage::Store store{storage::test_options(directory.path())};
  PreImages images{store};
  const storage::Table table = store.engine().open_table("pre-images");
  const std::shared_ptr<storage::Collection> collection = store.catalog().create("shop.items", {});
  RecordId record = 0;
};

// The change with timestamp n * second made version n + 1.
bson::Document version(int number) {
  bson::Builder out;
  out.append("_id", 1).append("n", number).append("text", std::string(400, 'x') + std::to_string(number * 7919));
  return out.done();
}

Images& all() {
  static Images one;
  if (one.record == 0) {
    storage::in_transaction(one.store, [](Transaction& transaction) {
      transaction.set_next_stamp(last);
      one.record = one.collection->insert(transaction, version(9)).id;
    });
  }
  return one;
}

void fill(BytesView rows) {
  storage::in_transaction(all().store, [&](Transaction& transaction) {
    base::FuzzReader reader(rows);
    while (reader.rest().size() > 1) {
      const BytesView key = reader.part(), value = reader.part();
      if (!key.empty()) all().table.put(transaction, key, value);
    }
  });
}

void clear() {
  storage::in_transaction(all().store, [](Transaction& transaction) {
    std::vector<Bytes> keys;
    storage::TableCursor rows = all().table.cursor(transaction);
    while (rows.next()) keys.emplace_back(rows.key());
    rows.reset();
    for (const Bytes& key : keys) all().table.remove(transaction, key);
  });
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const Stamp stamp = reader.number();
  fill(reader.rest());
  PreImages& images = all().images;
  std::optional<Bytes> found, again;
  const bool read = !base::refuses([&] { found = images.find(stamp); });
  const bool made_whole = !base::refuses([&] {
    for (RecordId from = 0, next = 0; (next = images.make_last_whole(*all().collection, from)) != 0; from = next)
      base::check(static_cast<uint64_t>(next) > static_cast<uint64_t>(from), "each part begins behind the one before");
  });
  const bool read_again = !base::refuses([&] { again = images.find(stamp); });
  if (read && found) base::check(read_again && again == found, "an image that was made whole is the same");
  images.expire(UINT64_MAX);
  base::check(images.expire(UINT64_MAX) == 0, "nothing expires twice");
  clear();
  return read && found && made_whole;
}

// The document's last changes; `moved`: their images are whole, as those of changes that gave it another record.
Bytes seed(Stamp asked, int changes, bool moved) {
  Images& one = all();
  Transaction transaction(one.store, Transaction::Mode::write);
  for (int i = 9 - changes; i < 9; ++i) {
    const bson::Document before = version(i), after = version(i + 1);
    const bson::DocumentView then = after.view();
    one.images.keep(transaction, one.collection->id(), one.record, static_cast<Stamp>(i) * second, before, &then, moved);
  }
  base::FuzzWriter rows;
  rows.number(asked * second);
  storage::TableCursor cursor = one.table.cursor(transaction);
  while (cursor.next()) rows.part(cursor.key()).part(cursor.value());
  return rows.rest();
}

std::vector<Bytes> seeds() {
  return {seed(8, 1, true), seed(8, 1, false), seed(5, 4, false), seed(3, 8, false)};
}

const base::FuzzTarget target("pre_images", run, seeds);

}  // namespace
