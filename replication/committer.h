// Where a write becomes part of history: the data's change and the log's entry
// in one transaction.
//
// On a single node the local form writes both and is done with the commit. On a
// replica set the same calls propose the entry to the other members.
#pragma once

#include <functional>

#include "replication/oplog.h"
#include "storage/catalog.h"

namespace replication {

enum class UpdateForm {
  smallest,      // a $v: 2 diff where that is much smaller than the document
  replacement,   // the document as a whole: what a replacement-style update did
};

// Thread-safe. Every call belongs to a transaction the caller commits; what each throws is what the
// collection throws.
class Committer {
 public:
  virtual ~Committer() = default;

  virtual storage::Stored insert(storage::Transaction& transaction, storage::Collection& collection, bson::DocumentView document) = 0;
  virtual storage::Stamp update(storage::Transaction& transaction, storage::Collection& collection, storage::RecordId record,
                                bson::DocumentView before, bson::DocumentView after, UpdateForm form = UpdateForm::smallest) = 0;
  virtual void remove(storage::Transaction& transaction, storage::Collection& collection, storage::RecordId record,
                      bson::DocumentView before) = 0;
  // {create: "orders", …}; `uuid`: of the collection, or empty.
  virtual void command(storage::Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView command) = 0;

  // Calls back, from any thread, when everything committed before the call will not be lost.
  virtual void when_durable(std::function<void()> done) = 0;
};

// Listens to the catalog for as long as it lives: changes of the schema need no call of their own.
class LocalCommitter final : public Committer, private storage::SchemaSink {
 public:
  LocalCommitter(storage::Engine& engine, Oplog& oplog);
  ~LocalCommitter() override;

  storage::Stored insert(storage::Transaction& transaction, storage::Collection& collection, bson::DocumentView document) override;
  storage::Stamp update(storage::Transaction& transaction, storage::Collection& collection, storage::RecordId record,
                        bson::DocumentView before, bson::DocumentView after, UpdateForm form = UpdateForm::smallest) override;
  void remove(storage::Transaction& transaction, storage::Collection& collection, storage::RecordId record,
              bson::DocumentView before) override;
  void command(storage::Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView command) override;
  void when_durable(std::function<void()> done) override;

 private:
  void schema_changed(storage::Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView command) override;

  storage::Engine& engine_;
  Oplog& oplog_;
};

}  // namespace replication
