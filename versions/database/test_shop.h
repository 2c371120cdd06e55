// For tests: the database `shop` on a directory that goes away, with one collection, and branches once somebody asks for them.
#pragma once

#include "storage/testing/temporary_engine.h"
#include "versions/database/databases.h"

namespace versions::test {

struct Shop {
  explicit Shop(const std::string& collection = "things")
      : engine(storage::test_options(directory.path())),
        past(engine),
        databases(engine, past),
        things(engine.catalog().create("shop." + collection, {})) {}

  void change(const std::function<void(Transaction&)>& work) { storage::in_transaction(engine, work); }
  void begin() { database = databases.find_or_begin("shop", {}).database; }
  void create_dev() {
    change([&](Transaction& transaction) { database->create(transaction, "dev", {.name = "main"}); });
  }

  storage::TemporaryDirectory directory;
  storage::Engine engine;
  past::Past past;
  Databases databases;
  std::shared_ptr<storage::Collection> things;
  std::shared_ptr<BranchedDatabase> database;  // nullptr until begin()
};

}  // namespace versions::test
