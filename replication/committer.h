// A committer makes a write part of history: it changes the data and writes the
// log's entry in one transaction.
//
// On a single node the local form writes both and is done with the commit. On a
// replica set the same calls propose the entry to the other members.
#pragma once

#include <functional>

#include "base/clock.h"
#include "bson/diff.h"
#include "replication/log_record.h"
#include "replication/oplog.h"
#include "storage/collections/branch_changes.h"
#include "storage/collections/catalog.h"

namespace storage {
class Store;
}

namespace replication {

// An UpdateForm says what readers of the log see of an update.
struct UpdateForm {
  bool is_replacement = false;  // the whole document; else a $v: 2 diff
  // These are the objects and arrays that operators set as a whole. nullopt: the diff is as short as it can be.
  std::optional<bson::diff::WholePaths> whole = {};

  static const UpdateForm smallest, replacement;
};
inline const UpdateForm UpdateForm::smallest{}, UpdateForm::replacement{.is_replacement = true};

// Thread-safe. Every call belongs to a transaction the caller commits; what each throws is what the
// collection throws.
class Committer {
 public:
  virtual ~Committer() = default;

  // `session`: the retryable statement this is, which the log's entry then names; nullptr: none. Each returns the entry's
  // timestamp; 0 where the write is no part of history.
  virtual storage::Stored insert(storage::Transaction& transaction, storage::Collection& collection, bson::DocumentView document,
                                 const SessionWrite* session = nullptr) = 0;
  virtual storage::Stamp update(storage::Transaction& transaction, storage::Collection& collection, storage::RecordId record,
                                bson::DocumentView before, bson::DocumentView after,
                                const UpdateForm& form = UpdateForm::smallest, const SessionWrite* session = nullptr) = 0;
  virtual storage::Stamp remove(storage::Transaction& transaction, storage::Collection& collection, storage::RecordId record,
                                bson::DocumentView before, const SessionWrite* session = nullptr) = 0;

  // Calls back, from any thread, when everything committed before the call will not be lost.
  virtual void when_durable(std::function<void()> done) = 0;
};

// Are writes to the namespace, or database, part of history? What belongs to this node alone (`local`) has none.
bool has_history(std::string_view ns);

// Listens to the catalog for as long as it lives: changes of the schema need no call of their own.
class LocalCommitter final : public Committer, public storage::BranchLog, private storage::SchemaSink {
 public:
  LocalCommitter(storage::Store& store, Oplog& oplog, base::Clock& clock);
  ~LocalCommitter() override;

  // `term` returns the term that an entry is written in, and throws when this member may not write. This is called before the
  // first write; without it the term is 1.
  void set_term_source(std::function<int64_t()> term) { term_ = std::move(term); }

  // `watch` is called within the transaction of each change of a schema that this member makes itself, and returns what to do
  // after the commit. `command` is the log's. It is set before the first such change.
  using SchemaWatch = std::function<std::function<void()>(std::string_view db, bson::DocumentView command)>;
  void watch_schema(SchemaWatch watch) { schema_watch_ = std::move(watch); }

  storage::Stored insert(storage::Transaction& transaction, storage::Collection& collection, bson::DocumentView document,
                         const SessionWrite* session = nullptr) override;
  storage::Stamp update(storage::Transaction& transaction, storage::Collection& collection, storage::RecordId record,
                        bson::DocumentView before, bson::DocumentView after, const UpdateForm& form = UpdateForm::smallest,
                        const SessionWrite* session = nullptr) override;
  storage::Stamp remove(storage::Transaction& transaction, storage::Collection& collection, storage::RecordId record,
                        bson::DocumentView before, const SessionWrite* session = nullptr) override;
  void when_durable(std::function<void()> done) override;

  void branches_changed(storage::Transaction& transaction, std::string_view db, bson::DocumentView command) override;
  storage::Stamp document_changed(storage::Transaction& transaction, std::string_view ns, BytesView uuid,
                                  const bson::DocumentView* before, const bson::DocumentView* after) override;
  void document_replaced(storage::Transaction& transaction, storage::CollectionId collection, storage::RecordId record,
                         storage::Stamp stamp, bson::DocumentView before) override;
  void content_lost(storage::Transaction& transaction, storage::CollectionId collection, storage::RecordId record,
                    const storage::Superseded& content) override;
  // Replays changes of branches; nullptr: there are no branches. Must be set before the first entry is applied.
  void set_branch_replayer(storage::BranchReplayer* replayer) { branch_replayer_ = replayer; }
  storage::BranchReplayer* branch_replayer() const { return branch_replayer_; }

 private:
  void schema_changed(storage::Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView command,
                      bson::DocumentView before) override;

  // An entry of `op` as every one begins.
  Entry entry_of(char op, std::string_view ns, BytesView uuid, const SessionWrite* session) const;

  storage::Store& store_;
  Oplog& oplog_;
  base::Clock& clock_;
  std::function<int64_t()> term_;
  storage::BranchReplayer* branch_replayer_ = nullptr;
  SchemaWatch schema_watch_;
};

}  // namespace replication
