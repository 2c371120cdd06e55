// Tests use this: the database `shop` in a temporary directory, with one collection. It gets branches when somebody asks for
// them.
#pragma once

#include "storage/testing/temporary_store.h"
#include "storage/upkeep/repair.h"
#include "versions/database/databases.h"

namespace versions::test {

struct Shop {
  explicit Shop(const std::string& collection = "things")
      : store(storage::test_options(directory.path())),
        past(store),
        databases(store, past),
        things(store.catalog().create("shop." + collection, {})) {}

  void change(const std::function<void(Transaction&)>& work) { storage::in_transaction(store, work); }
  // Inserts the document, or changes the one with its `_id` to it, or removes that.
  void write(const std::string& ns, const bson::Document& document, bool remove) {
    const auto collection = store.catalog().open(ns);
    change([&](Transaction& transaction) {
      const auto old = collection->find_id(transaction, document["_id"]);
      if (!old)
        collection->insert(transaction, document);
      else if (remove)
        collection->remove(transaction, *old, *collection->find(transaction, *old, nullptr));
      else
        collection->update(transaction, *old, *collection->find(transaction, *old, nullptr), document);
    });
  }
  void begin() { database = databases.find_or_begin("shop", {}).database; }
  void create_dev() {
    change([&](Transaction& transaction) { database->create(transaction, "dev", {.name = "main"}); });
  }

  // nullptr: nothing was pending.
  std::shared_ptr<const Commit> commit(const std::string& branch) {
    while (
        storage::in_transaction(store, [&](Transaction& transaction) { return database->prepare_commit(transaction, branch); })) {
    }
    return storage::in_transaction(store, [&](Transaction& transaction) { return database->commit(transaction, branch, {}); });
  }
  storage::RepairReport repair(const std::shared_ptr<storage::Collection>& collection, storage::EntryLog* log = nullptr) {
    const auto versions = database->version_repair(store.engine(), collection->id(), log);
    const auto no_copies = [](const storage::Collection&, RecordId, Stamp) { return std::nullopt; };
    return storage::repair_collection(store, collection, false, no_copies, versions.get());
  }

  storage::TemporaryDirectory directory;
  storage::Store store;
  past::Past past;
  Databases databases;
  std::shared_ptr<storage::Collection> things;
  std::shared_ptr<BranchedDatabase> database;  // nullptr until begin()
};

}  // namespace versions::test
