// The engine, collection and documents that tests of the past use.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bson/builder.h"
#include "storage/store.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"
#include "versions/database/past_views.h"
#include "versions/past/past.h"

namespace versions::past::test {

// A Content is a document: it has a small number under an index, one under a unique one, and text.
struct Content {
  int a = 0, u = 0;
  std::string text;
  bool operator==(const Content&) const = default;
};

inline bson::Document document_of(int id, const Content& content) {
  bson::Builder out;
  out.append("_id", id).append("a", content.a).append("u", content.u).append("text", content.text);
  return out.done();
}

// OnePast is an engine with one collection, db.c, and its past.
struct OnePast {
  storage::TemporaryDirectory directory;
  storage::Store store{storage::test_options(directory.path())};
  Past past{store};
  versions::PastViews views{past};
  std::shared_ptr<storage::StoredCollection> collection;

  OnePast() {
    past.make();
    store.catalog().create("db.c", {});
    collection = store.catalog().stored(store.catalog().open("db.c")->id());
  }
  void change(const std::function<void(Transaction&)>& work) {
    storage::in_transaction(store, [&](Transaction& transaction) {
      transaction.expect_stamps(4);
      work(transaction);
    });
  }
  DeclaredSnapshot declare() {
    return past.snapshots().declare({}, [](Transaction& transaction, const DeclaredSnapshot&) { transaction.next_stamp(); });
  }
  void drop(const DeclaredSnapshot& snapshot) {
    REQUIRE(past.snapshots().drop(snapshot.number,
                                  [](Transaction& transaction, const DeclaredSnapshot&) { transaction.next_stamp(); }));
  }
  std::shared_ptr<storage::Collection> as_of(const DeclaredSnapshot& snapshot) {
    return views.open(snapshot, "db@s" + std::to_string(snapshot.number) + ".c", "db.c");
  }
};

}  // namespace versions::past::test
