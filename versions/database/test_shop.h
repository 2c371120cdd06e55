// Tests use this: the database `shop` in a temporary directory, with one collection. It gets branches when somebody asks for
// them.
#pragma once

#include "storage/testing/temporary_store.h"
#include "versions/database/databases.h"

namespace versions::test {

struct Shop {
  explicit Shop(const std::string& collection = "things")
      : store(storage::test_options(directory.path())),
        past(store),
        databases(store, past),
        things(store.catalog().create("shop." + collection, {})) {}

  void change(const std::function<void(Transaction&)>& work) { storage::in_transaction(store, work); }
  void begin() { database = databases.find_or_begin("shop", {}).database; }
  void create_dev() {
    change([&](Transaction& transaction) { database->create(transaction, "dev", {.name = "main"}); });
  }

  storage::TemporaryDirectory directory;
  storage::Store store;
  past::Past past;
  Databases databases;
  std::shared_ptr<storage::Collection> things;
  std::shared_ptr<BranchedDatabase> database;  // nullptr until begin()
};

}  // namespace versions::test
