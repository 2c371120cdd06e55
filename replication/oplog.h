// The oplog is the log of everything that changed, in the order it happened.
//
// It is a table by timestamp. Rows are written in the transaction of the change that they
// describe; a reader sees them up to where no transaction is still open, so it never
// finds a place filled in behind it. The oldest go in large steps when the
// table outgrows its size.
//
// Contents that entries name stay where they are until they are superseded. When their collection is dropped, its tables stay
// until the entries have taken the contents in.
//
//   oplog    0                -> {uuid, countedTo, steps: [{end, entries, logical, stored}, …]}
//            timestamp, 8, BE -> an entry (entry.h)
//
// Everyone else sees it as the collection local.oplog.rs: capped, read-only.
#pragma once

#include <functional>
#include <memory>

#include "replication/entry.h"
#include "replication/pre_images.h"
#include "storage/collections/collection.h"
#include "storage/store.h"

namespace replication {

struct OplogStats {
  int64_t entries = 0;
  int64_t logical_bytes = 0;  // of the entries as MongoDB's documents
  int64_t stored_bytes = 0;   // of the rows, before block compression
  int64_t bytes_max = 0;
  storage::Stamp first = 0;  // 0: empty
  storage::Stamp last = 0;
};

inline constexpr char oplog_ns[] = "local.oplog.rs";

// Returns the size that mongod chooses: 5 % of what is free, from 990 MB to 50 GB.
uint64_t default_oplog_bytes(const std::string& path);

// Thread-safe. The engine's timestamps go on above the newest entry once it is open.
class Oplog {
 public:
  Oplog(storage::Store& store, uint64_t bytes_max);
  ~Oplog();
  Oplog(const Oplog&) = delete;
  Oplog& operator=(const Oplog&) = delete;

  void append(storage::Transaction& transaction, storage::Stamp stamp, const Entry& entry);
  // `changed` is called after each commit that changes something in the database `admin`, whoever made the change. It is set
  // before the first write, and again, empty, after the last.
  void watch_admin(std::function<void()> changed);
  // The record's content `before` is about to be superseded: an entry that only names it takes it in.
  void keep_content(storage::Transaction& transaction, storage::CollectionId collection, storage::RecordId record,
                    const storage::Superseded& before);

  std::shared_ptr<storage::Collection> collection() const;
  // They have what documents were before changes that the log has.
  PreImages& pre_images();
  OplogStats stats();
  // Returns the entry with this timestamp as MongoDB shows it; nullopt: cut off, or its content went with its collection.
  std::optional<bson::Document> find(storage::Stamp stamp);

  // Returns its row, for entry.h's decode; nullopt: cut off.
  std::optional<Bytes> row(storage::Stamp stamp);

  // The rows themselves, by entry_key.
  storage::TableCursor rows(storage::Transaction& transaction) const;
  // The entry is here, or was before the log was cut: the change has been made.
  bool passed(storage::Stamp stamp);

  // The log goes so far without a gap: to the newest entry, or to the one before the oldest transaction that is still open.
  // Nothing is read, since each reply asks for it.
  struct Position {
    OpTime optime = no_optime;
    int64_t wall_ms = 0;
  };
  Position newest() const;

  // Counts what came since, and takes the oldest away where it is too much. Takes in the contents of collections that were
  // dropped, if the set can't roll that back any more, and lets their tables go. The oplog's own thread does so every second.
  void tend();

  struct State;  // replication/ only

 private:
  std::shared_ptr<State> state_;
};

}  // namespace replication
