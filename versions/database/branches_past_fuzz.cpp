// Any rows are taken as what the branches of a database were in snapshots. Each question about them is refused, as damaged data
// is, or answered from the rows.
//
// The input is a snapshot (8 bytes), and rows of `past-states` (storage/testing/fuzz_table.h).
#include "versions/database/branches_past.h"

#include "storage/collections/stored_collection.h"
#include "storage/testing/fuzz_table.h"
#include "versions/branch/graph_rows.h"
#include "versions/past/past.h"

namespace {

using namespace versions;
using base::check;

constexpr uint32_t database = 1;
constexpr char name[] = "shop";

struct Shop {
  storage::TemporaryDirectory directory;
  storage::Store store{storage::test_options(directory.path())};
  past::Past past{store};
  VersionGraph graph{store.engine(), database};
  std::shared_ptr<storage::StoredCollection> collection;

  Shop() {
    past.make();
    store.catalog().create("shop.things", {});
    collection = std::dynamic_pointer_cast<storage::StoredCollection>(store.catalog().open("shop.things"));
  }
  const Table& table() const { return past.states().table(); }
};

Shop& shop() {
  static Shop one;
  return one;
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const Stamp snapshot = reader.number();
  Transaction transaction(shop().store, Transaction::Mode::write);
  storage::FuzzTable::put_rows(transaction, shop().table(), reader.rest());
  const BranchesPast past(shop().past, shop().graph, name, database);
  CollectionPast collection(shop().past, *shop().collection);

  const bool branches = !base::refuses([&] {
    for (const auto& [branch, as_it_was] : past.branches(transaction, snapshot)) {
      const auto same = past.branch(transaction, branch, snapshot);
      check(as_it_was.name == branch && same && same->head == as_it_was.head, "a branch is found by its name");
    }
  });
  const bool held = !base::refuses([&] { past.held(transaction); });
  const bool databases = !base::refuses([&] {
    const auto number = BranchesPast::database(shop().past, transaction, name, snapshot);
    if (number && *number)
      check(BranchesPast::shown_by_any_snapshot(shop().past, transaction, **number), "a database that a snapshot shows is shown");
  });
  const bool records = !base::refuses([&] { collection.saved_additions(transaction); });
  const bool listed = !base::refuses([&] { collection.saved_listed(transaction); });
  return branches && held && databases && records && listed;
}

std::vector<Bytes> seeds() {
  constexpr Stamp snapshot = 40;
  Transaction transaction(shop().store, Transaction::Mode::write);
  const auto number = [](char kind, uint32_t one) { return Bytes(1, kind) + storage::catalog_key(one); };
  const auto record = [](RecordId one) {
    Bytes out;
    base::append_be64(out, static_cast<uint64_t>(one));
    return out;
  };
  const uint32_t collection = shop().collection->id();
  const past::SavedStates& states = shop().past.states();
  const auto save = [&](const Bytes& owner, const Bytes& one, Stamp since, const Bytes& value) {
    states.save(transaction, owner, one, since, value, snapshot);
  };
  std::vector<Bytes> out;
  const auto seed = [&] {
    out.push_back(base::FuzzWriter().number(snapshot).rest(storage::FuzzTable::rows_in(transaction, shop().table())));
  };
  save(number('b', database), "dev", 0, write_branch({.name = "dev", .id = BranchId{3}, .head = 20, .segment = first_segment}));
  save(number('b', database), "main", 0, {});
  seed();
  save("d", name, 0, storage::catalog_key(database));
  save("d", "other", 0, {});
  seed();
  const Bytes branch = storage::catalog_key(3);
  save(number('p', collection) + branch, record(300), 20, Bytes(1, static_cast<char>(PendingKind::added)));
  save(number('p', collection) + branch, record(301), 1, Bytes(1, static_cast<char>(PendingKind::removed)));
  save(number('l', collection), branch, 20, Bytes(1, static_cast<char>(Listing::made_anew)));
  seed();
  return out;
}

const base::FuzzTarget target("branches_past", run, seeds);

}  // namespace
